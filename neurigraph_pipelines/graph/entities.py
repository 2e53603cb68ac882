"""Which node of an outline a proposed name means, and how much speaks for one that is not there yet.

Pure look-ups by name, alias and keyword over one user's nodes and candidates, planned ones included. What follows
from a match or a miss is decided in ``ingestion.assign``; how names compare is in ``naming``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import (
    ConceptKind,
    Filing,
    NodeCandidate,
    NodeProposal,
    Outline,
    OutlineNode,
    PlannedNode,
)

ENOUGH_SHARED_WORDS = 2
"""One word in common, such as "with" in two descriptions, is chance."""

MAX_EVIDENCE_OF_SEGMENT = 0.5
"""Most that one segment adds to what is remembered: no single conversation makes a node out of doubts."""

Key = tuple[str, ...]

_WORD = re.compile(r"\w{4,}")


class OutlineIndex:
    """An outline by parent and name, by person, and by its own name alone."""

    def __init__(self, outline: Outline) -> None:
        self._children: dict[Key, dict[str, OutlineNode]] = {}
        self._persons: dict[str, OutlineNode] = {}
        self._anywhere: dict[str, OutlineNode] = {}
        self._top: list[OutlineNode] = []
        self._candidates: dict[tuple[ConceptKind, str], list[NodeCandidate]] = {}
        for node in outline.nodes:
            self.add(node)
        for candidate in outline.candidates:
            self._candidates.setdefault((candidate.kind, name_key(candidate.name)), []).append(candidate)

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

    def namesake(self, name: str, labels: Iterable[str]) -> OutlineNode | None:
        """The one person who shares the first name and something that ``name`` is said to be, such as ``coworker``.

        One of the two names must be a first name alone: Dave Miller is Dave, never Dave Smith.
        """
        words, roles = name_key(name).split(), {name_key(label) for label in labels}
        found = {
            node.path: node
            for key, node in self._persons.items()
            if words[:1] == key.split()[:1]
            and min(len(words), len(key.split())) == 1
            and roles & {name_key(keyword) for keyword in node.keywords}
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def candidates(self, kind: ConceptKind, names: Iterable[str], parent: tuple[str, ...]) -> list[NodeCandidate]:
        """What is remembered of a candidate, best first: of a person wherever met, else only under ``parent``."""
        found = [
            candidate
            for key in dict.fromkeys(_keys(names))
            for candidate in self._candidates.get((kind, key), ())
            if kind is ConceptKind.PERSON or _key(candidate.parent) == _key(parent)
        ]
        return sorted(found, key=lambda candidate: (-candidate.confidence, candidate.parent))

    def at(self, path: tuple[str, ...]) -> OutlineNode | None:
        """The node at ``path``."""
        return self.child(path[:-1], path[-1:]) if path else None

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


def combined(confidences: Iterable[float]) -> float:
    """The confidence of independent pieces of evidence together: ``1 - prod(1 - c)`` (noisy or; Pearl, 1988)."""
    return 1.0 - prod(1.0 - confidence for confidence in confidences)


def evidence_of_segment(confidence: float) -> float:
    """What one segment's confidence adds to a candidate; what is no number adds nothing."""
    return min(MAX_EVIDENCE_OF_SEGMENT, confidence) if confidence > 0 else 0.0


def as_outline_node(node: PlannedNode) -> OutlineNode:
    """A planned node as a later segment sees it."""
    return OutlineNode(node.path, node.kind, node.summary, node.keywords, node.aliases)


def grown(outline: Outline, filings: Sequence[Filing]) -> Outline:
    """The outline as it will be once ``filings`` are committed, as far as filing by it goes."""
    nodes = {_key(node.path): node for node in outline.nodes}
    made = [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
    for planned in made:
        nodes.setdefault(_key(planned.path), as_outline_node(planned))
    for learned in (alias for filing in filings for alias in filing.aliases):
        node = nodes.get(_key(learned.path))
        if node is not None and learned.alias not in node.aliases:
            nodes[_key(learned.path)] = replace(node, aliases=(*node.aliases, learned.alias))
    settled = {
        (node.kind, name_key(name), None if node.kind is ConceptKind.PERSON else _key(node.path[:-1]))
        for node in made
        for name in (node.path[-1], *node.aliases)
    }
    candidates: dict[tuple[ConceptKind, str, Key], NodeCandidate] = {}
    for candidate in (*outline.candidates, *(one for filing in filings for one in filing.candidates)):
        key = (candidate.kind, name_key(candidate.name), _key(candidate.parent))
        known = candidates.get(key)
        if known is not None:
            candidate = replace(
                candidate,
                confidence=combined((known.confidence, candidate.confidence)),
                segments=known.segments + candidate.segments,
            )
        if (*key[:2], None if candidate.kind is ConceptKind.PERSON else key[2]) not in settled:
            candidates[key] = candidate
    return Outline(tuple(nodes.values()), tuple(candidates.values()))


def _key(path: Iterable[str]) -> Key:
    return tuple(name_key(name) for name in path)


def _keys(names: Iterable[str]) -> Iterator[str]:
    """The keys of ``names`` without empty ones, which would match every other empty name."""
    return (key for key in map(name_key, names) if key)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(name_key(text))}
