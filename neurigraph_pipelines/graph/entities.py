"""Lookup of nodes and candidates in an outline by name, alias and keyword, and the sums of their weights.

Pure functions over one user's nodes and candidates, including planned ones. ``ingestion.placement_rules`` decides what
a match or a miss means; ``naming`` compares names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.roles import are_kin, are_two, defined_roles, roles_of
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
"""Common words that make two descriptions similar; one, such as "with", is chance."""

MAX_WEIGHT_OF_SEGMENT = 0.5
"""Greatest weight that one segment adds to a candidate, so that no single doubtful conversation makes a node."""

Key = tuple[str, ...]

_WORD = re.compile(r"\w{4,}")


class OutlineIndex:
    """An index of an outline by parent and name, by person, and by name alone."""

    def __init__(self, outline: Outline) -> None:
        self._children: dict[Key, dict[str, OutlineNode]] = {}
        self._persons: dict[str, list[OutlineNode]] = {}
        self._called: dict[Key, set[str]] = {}
        self._anywhere: dict[str, OutlineNode] = {}
        self._top: list[OutlineNode] = []
        self._candidates: dict[tuple[ConceptKind, str], list[NodeCandidate]] = {}
        self._closed = set(map(_key, outline.closed))
        for node in outline.nodes:
            self.add(node)
        for candidate in outline.candidates:
            self._candidates.setdefault((candidate.kind, name_key(candidate.name)), []).append(candidate)

    def add(self, node: OutlineNode) -> None:
        """Add a node. If two nodes have one name, the first keeps it; a name takes precedence over an alias."""
        siblings = self._children.setdefault(_key(node.path[:-1]), {})
        own = name_key(node.path[-1])
        if own not in siblings or name_key(siblings[own].path[-1]) != own:
            siblings[own] = node
        for name in (node.path[-1], *node.aliases):
            key = name_key(name)
            siblings.setdefault(key, node)
            self._anywhere.setdefault(key, node)
            if node.kind is ConceptKind.PERSON:
                self._called.setdefault(_key(node.path), set()).add(key)
                bearers = self._persons.setdefault(key, [])
                if all(one.path != node.path for one in bearers):
                    bearers.append(node)
        if len(node.path) == 1:
            self._top.append(node)

    def child(self, parent: tuple[str, ...], names: Sequence[str]) -> OutlineNode | None:
        """Return the child of ``parent`` with one of ``names``, tried in order."""
        siblings = self._children.get(_key(parent), {})
        found = (siblings[key] for key in _keys(names) if key in siblings)
        return next((node for node in found if not self._has_other_surname(node, names)), None)

    def person(self, names: Sequence[str], labels: Iterable[str] = ()) -> OutlineNode | None:
        """Return the person with one of ``names``, on any branch.

        Args:
            labels: Words for the person, such as ``brother``: a dentist of that name is somebody else.
        """
        found = (node for key in _keys(names) for node in self._persons.get(key, ()))
        return next((node for node in found if not self.is_somebody_else(node, names, labels)), None)

    def is_somebody_else(self, node: OutlineNode, names: Sequence[str], labels: Iterable[str]) -> bool:
        """Return whether the bearer of ``names`` is not a person who has one of them: surnames or roles say so.

        Nobody begins to call a brother by his surname, so only a role makes "Tomas Berg" the brother Tomas.
        """
        if node.kind is not ConceptKind.PERSON or any(key in self._called[_key(node.path)] for key in _full(names)):
            return False
        if self._has_other_surname(node, names):
            return True
        roles, known = roles_of(labels), defined_roles(node.path[-1], node.summary)
        has_surname = bool(_full(names))
        if has_surname and _full(self._called[_key(node.path)]):
            return False
        return are_two(roles, known) or (has_surname and are_kin(known) and roles.isdisjoint(known))

    def _has_other_surname(self, node: OutlineNode, names: Sequence[str]) -> bool:
        """Return whether a person has the first name of ``names``, and surnames of which none fits theirs."""
        if node.kind is not ConceptKind.PERSON:
            return False
        given, known = _full(names), _full(self._called[_key(node.path)])
        alike = [(set(a.split()), set(b.split())) for a in given for b in known if a.split()[0] == b.split()[0]]
        return bool(alike) and not any(one <= other or other <= one for one, other in alike)

    def same_first_name(self, name: str, labels: Iterable[str]) -> OutlineNode | None:
        """Return the one person with the same first name and a label of ``name``, such as ``coworker``.

        One of the two names must be a first name only: Dave Miller matches Dave, never Dave Smith.
        """
        words, roles = name_key(name).split(), {name_key(label) for label in labels}
        found = {
            node.path: node
            for key, nodes in self._persons.items()
            if words[:1] == key.split()[:1] and min(len(words), len(key.split())) == 1
            for node in nodes
            if roles & {name_key(keyword) for keyword in node.keywords} and not self._has_other_surname(node, [name])
            if not are_two(roles_of(labels), defined_roles(node.path[-1], node.summary))
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def candidates(self, kind: ConceptKind, names: Iterable[str], parent: tuple[str, ...]) -> list[NodeCandidate]:
        """Return the candidates with one of ``names``, best first: persons anywhere, others only below ``parent``."""
        found = [
            candidate
            for key in dict.fromkeys(_keys(names))
            for candidate in self._candidates.get((kind, key), ())
            if kind is ConceptKind.PERSON or _key(candidate.parent) == _key(parent)
        ]
        return sorted(found, key=lambda candidate: (-candidate.confidence, candidate.parent))

    def at(self, path: tuple[str, ...]) -> OutlineNode | None:
        """Return the node at ``path``."""
        return self.child(path[:-1], path[-1:]) if path else None

    def anywhere(self, name: str, labels: Sequence[str] = ()) -> OutlineNode | None:
        """Return the person with a name or alias, else the shallowest node with it."""
        found = self._anywhere.get(name_key(name))
        is_other = found is not None and self.is_somebody_else(found, [name], labels)
        return self.person([name], labels) or (None if is_other else found)

    def is_closed(self, path: tuple[str, ...]) -> bool:
        """Return whether no node may be planned at ``path``."""
        return _key(path) in self._closed

    def nearest_topic(self, proposals: Iterable[NodeProposal]) -> OutlineNode | None:
        """Return the layer-1 node that shares most words with ``proposals``, or None if none shares enough."""
        wanted = _words(text for p in proposals for text in (p.name, p.summary, *p.keywords, *p.aliases))
        shares = [
            len(wanted & _words((node.path[-1], node.summary, *node.keywords, *node.aliases))) for node in self._top
        ]
        best = max(shares, default=0)
        return self._top[shares.index(best)] if best >= ENOUGH_SHARED_WORDS else None


def combined(confidences: Iterable[float]) -> float:
    """Combine independent confidences: ``1 - prod(1 - c)`` (noisy or; Pearl, 1988)."""
    return 1.0 - prod(1.0 - confidence for confidence in confidences)


def weight_of_segment(confidence: float) -> float:
    """Return the weight that a confidence in one segment adds to a candidate; NaN adds nothing."""
    return min(MAX_WEIGHT_OF_SEGMENT, confidence) if confidence > 0 else 0.0


def as_outline_node(node: PlannedNode) -> OutlineNode:
    """Convert a planned node to an outline node for later segments."""
    return OutlineNode(node.path, node.kind, node.summary, node.keywords, node.aliases)


def with_filings(outline: Outline, filings: Sequence[Filing]) -> Outline:
    """Return the outline with the nodes, aliases and candidates of ``filings``."""
    nodes = {_key(node.path): node for node in outline.nodes}
    created = [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
    for planned in created:
        nodes.setdefault(_key(planned.path), as_outline_node(planned))
    for learned in (alias for filing in filings for alias in filing.aliases):
        node = nodes.get(_key(learned.path))
        if node is not None and learned.alias not in node.aliases:
            nodes[_key(learned.path)] = replace(node, aliases=(*node.aliases, learned.alias))
    promoted = {
        (node.kind, name_key(name), None if node.kind is ConceptKind.PERSON else _key(node.path[:-1]))
        for node in created
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
        if (*key[:2], None if candidate.kind is ConceptKind.PERSON else key[2]) not in promoted:
            candidates[key] = candidate
    return replace(outline, nodes=tuple(nodes.values()), candidates=tuple(candidates.values()))


def _key(path: Iterable[str]) -> Key:
    return tuple(name_key(name) for name in path)


def _keys(names: Iterable[str]) -> Iterator[str]:
    """Return the keys of ``names`` without empty ones, which would match every other empty name."""
    return (key for key in map(name_key, names) if key)


def _full(names: Iterable[str]) -> list[str]:
    """Return the keys of names that have a surname, too."""
    return [key for key in map(name_key, names) if " " in key]


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(name_key(text))}
