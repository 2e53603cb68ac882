"""Which node of an outline a proposed name means.

Pure look-ups by name, alias and keyword over one user's nodes, planned ones included. What follows from a
match or a miss is decided in ``ingestion.assign``; how names compare is in ``naming``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import ConceptKind, NodeProposal, Outline, OutlineNode

ENOUGH_SHARED_WORDS = 2
"""One word in common, such as "with" in two descriptions, is chance."""

Key = tuple[str, ...]

_WORD = re.compile(r"\w{4,}")


class OutlineIndex:
    """An outline by parent and name, by person, and by its own name alone."""

    def __init__(self, outline: Outline) -> None:
        self._children: dict[Key, dict[str, OutlineNode]] = {}
        self._persons: dict[str, OutlineNode] = {}
        self._anywhere: dict[str, OutlineNode] = {}
        self._top: list[OutlineNode] = []
        for node in outline.nodes:
            self.add(node)

    def add(self, node: OutlineNode) -> None:
        """Take in one more node. Of two that claim a name the first keeps it; a name goes before an alias."""
        siblings = self._children.setdefault(_key(node.path[:-1]), {})
        own = name_key(node.path[-1])
        if own not in siblings or name_key(siblings[own].path[-1]) != own:
            siblings[own] = node
        for name in (node.path[-1], *node.aliases):
            key = name_key(name)
            siblings.setdefault(key, node)
            self._anywhere.setdefault(key, node)
            if node.kind is ConceptKind.PERSON:
                self._persons.setdefault(key, node)
        if len(node.path) == 1:
            self._top.append(node)

    def child(self, parent: tuple[str, ...], names: Iterable[str]) -> OutlineNode | None:
        """The node under ``parent`` that bears one of ``names``, tried in order."""
        siblings = self._children.get(_key(parent), {})
        return next((siblings[key] for key in _keys(names) if key in siblings), None)

    def person(self, names: Iterable[str]) -> OutlineNode | None:
        """The person who bears one of ``names``, on whatever branch."""
        return next((self._persons[key] for key in _keys(names) if key in self._persons), None)

    def anywhere(self, name: str) -> OutlineNode | None:
        """Who or what ``name`` means: a person first, then the shallowest node so called."""
        return self.person([name]) or self._anywhere.get(name_key(name))

    def nearest_topic(self, proposals: Iterable[NodeProposal]) -> OutlineNode | None:
        """The layer-1 node that shares most words with ``proposals``; None when none shares enough."""
        wanted = _words(text for p in proposals for text in (p.name, p.summary, *p.keywords, *p.aliases))
        shares = [
            len(wanted & _words((node.path[-1], node.summary, *node.keywords, *node.aliases))) for node in self._top
        ]
        best = max(shares, default=0)
        return self._top[shares.index(best)] if best >= ENOUGH_SHARED_WORDS else None


def _key(path: Iterable[str]) -> Key:
    return tuple(name_key(name) for name in path)


def _keys(names: Iterable[str]) -> Iterator[str]:
    """The keys of ``names`` without empty ones, which would match every other empty name."""
    return (key for key in map(name_key, names) if key)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(name_key(text))}
