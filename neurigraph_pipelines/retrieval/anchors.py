"""Where a question is searched: which nodes, in which order, and why.

Pure functions of the shells, and of what the database found to speak for nodes; what they hold is for ``ranking``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.postings import Floats
from neurigraph_pipelines.retrieval.shells import Shells

INDEXED_COST = 1_500
"""A node that is searched by its indexes costs about as much as so many passages that are compared one by one."""

NAMED = 0.8
"""From this score on a question names a node, perhaps with one letter wrong; below, it says how a name begins."""

_SCORED = np.dtype([("node_id", "S16"), ("score", ">f4")])


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node that is searched.

    Attributes:
        version: Of what it holds; None where nothing of it may be kept.
        path: The names down to it.
        reason: ``name``, ``edge``, ``words`` or ``centroid``: what speaks for it most.
        score: How strongly, 0 to 1, comparable within one question.
        boost: How surely the question names it, 0 to 1.
    """

    node_id: str
    version: str | None
    path: str
    reason: str
    score: float
    boost: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is searched.

    Attributes:
        within: Only this node and what lies below it.
        nodes: Most nodes.
        passages: Most passages of a graph that is searched as a whole; of larger ones half as many, for there is no
            whole to miss.
        records: As many are searched at least, if there are: a bound on nodes must not become a bound on hits.
    """

    within: int | None
    nodes: int
    passages: int
    records: int


def choose(shells: Shells, evidence: Mapping[str, Any], route: Floats | None, bounds: Bounds) -> list[Anchor]:
    """The nodes to search, best first.

    All of them where there are few; else those for which something speaks: a name, an edge to a named one, the rare
    words of the content, the words of the shell, and, where no name leads, the centroid.

    Args:
        evidence: A row of ``neurigraph.evidence``.
        route: The vector of the question, as wide as those of passages; None where nothing can be compared.
    """
    name, linked, content, words = (
        _scores(shells, evidence[kind]) for kind in ("named", "linked", "content", "shells")
    )
    inside = np.ones(len(shells), bool) if bounds.within is None else shells.below(bounds.within)
    are_few = np.count_nonzero(inside) <= 2 * bounds.nodes
    near = np.zeros(len(shells))
    if route is not None and (are_few or not np.any(name == 1)):
        near = _nearest(shells.likeness(route, 2 * bounds.nodes), 2 * bounds.nodes)
    word = content + 0.5 * words
    score = np.minimum(np.maximum.reduce([name, linked, 0.5 * np.minimum(word, 1) + 0.5 * near]), 1)
    searched = inside & (shells.records > 0)
    if not are_few:
        searched &= _pointed_out(shells, inside, (score > 0) | (near > 0), bounds.records)
    found = np.flatnonzero(searched)
    found = found[np.lexsort((-shells.records[found], -score[found]))]
    cost = np.where(shells.is_indexed[found], INDEXED_COST, shells.passages[found])
    budget = bounds.passages if evidence["corpus_passages"] <= bounds.passages else bounds.passages // 2
    in_bounds = (np.arange(len(found)) < bounds.nodes) & (np.cumsum(cost) - cost < budget)
    records_before = np.cumsum(shells.records[found]) - shells.records[found]
    by_words = np.where(word >= near, "words", "centroid")
    reason = np.where(name > 0, "name", np.where(linked > 0, "edge", by_words))
    return [
        Anchor(
            shells.node_id(number),
            shells.version(number),
            shells.path(number),
            str(reason[number]),
            float(score[number]),
            float(name[number]) if name[number] >= NAMED else 0.0,
        )
        for number in found[in_bounds | (records_before < bounds.records)].tolist()
    ]


def _scores(shells: Shells, packed: bytes | None) -> NDArray[Any]:
    """Of each node, the score that the database gave it; 0 for most."""
    scores = np.zeros(len(shells))
    if packed:
        given = np.frombuffer(packed, _SCORED)
        numbers = shells.numbers(given["node_id"])
        scores[numbers[numbers >= 0]] = given["score"][numbers >= 0]
    return scores


def _nearest(likeness: NDArray[Any], most: int) -> NDArray[Any]:
    """The likeness of the ``most`` nearest; 0 for all others."""
    known = np.where(likeness > 0, likeness, 0)
    if len(known) > most:
        known[np.argpartition(-known, most)[most:]] = 0
    return known


def _pointed_out(shells: Shells, inside: NDArray[Any], spoken_for: NDArray[Any], wanted: int) -> NDArray[Any]:
    """Those for which something speaks; with the largest others where those do not hold enough records."""
    if shells.records[spoken_for & inside].sum() >= wanted:
        return spoken_for
    largest = np.flatnonzero(inside)
    largest = largest[np.argsort(-shells.records[largest], kind="stable")][:wanted]
    pointed_out = spoken_for.copy()
    pointed_out[largest] = True
    return pointed_out
