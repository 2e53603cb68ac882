"""Where a question is searched: which nodes, in which order, and why.

Pure functions of the shells, and of what the database found to speak for nodes; what they hold is for ``ranking``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.names import EXACT, NEARLY
from neurigraph_pipelines.retrieval.postings import Floats
from neurigraph_pipelines.retrieval.shells import Shells

INDEXED_COST = 1_500
"""A node that is searched by its indexes costs about as much as so many passages that are compared one by one."""

LINKED = 0.6
"""What an edge is worth that leads to a node which the question names."""

_CONTENT = np.dtype([("lexeme", ">i4"), ("node_id", "S16"), ("passages", ">i4")])
_WORDS = np.dtype([("node_id", "S16"), ("score", ">f4")])


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


@dataclass(frozen=True, slots=True)
class Leads:
    """What the shells say by themselves of where to search, of each node.

    Attributes:
        inside: Whether it may be searched at all.
        are_few: Whether all of those are.
        name: How surely the question names it.
        linked: What an edge to a node so named is worth.
        near: The likeness of its centroid, of the nearest.
    """

    inside: NDArray[np.bool_]
    are_few: bool
    name: NDArray[Any]
    linked: NDArray[Any]
    near: NDArray[Any]


def lead(shells: Shells, query: str, lexemes: Sequence[str], route: Floats | None, bounds: Bounds) -> Leads:
    """What names, edges and, where no name leads, centroids say.

    Args:
        route: The vector of the question, as wide as those of passages; None where nothing can be compared.
    """
    inside = np.ones(len(shells), bool) if bounds.within is None else shells.below(bounds.within)
    are_few = bool(np.count_nonzero(inside) <= 2 * bounds.nodes)
    named = shells.names.named(query, lexemes)
    name, linked, near = np.zeros((3, len(shells)))
    name[list(named)] = list(named.values())
    for number, score in named.items():
        if score >= NEARLY:
            linked[shells.beside(number)] = LINKED
    if route is not None and (are_few or EXACT not in named.values()):
        near = _nearest(shells.likeness(route, 2 * bounds.nodes), 2 * bounds.nodes)
    return Leads(inside, are_few, name, linked, near)


def choose(
    shells: Shells, leads: Leads, evidence: Mapping[str, Any], rarities: NDArray[Any], bounds: Bounds
) -> list[Anchor]:
    """The nodes to search, best first.

    All of them where there are few; else those for which something speaks: a name, an edge to a named one, the rare
    words of the content, the words of the shell, and, where no name leads, the centroid.

    Args:
        evidence: A row of ``neurigraph.evidence``.
        rarities: Of each lexeme of the question.
    """
    inside, are_few, name, linked, near = leads.inside, leads.are_few, leads.name, leads.linked, leads.near
    content, words = _content(shells, evidence["content"], rarities), _words(shells, evidence["words"])
    word = content + 0.5 * words
    score = np.minimum(np.maximum.reduce([name, linked, 0.5 * np.minimum(word, 1) + 0.5 * near]), 1)
    searched = inside & (shells.records > 0)
    if not are_few:
        searched &= _pointed_out(shells, inside, (score > 0) | (near > 0), bounds.records)
    found = np.flatnonzero(searched)
    found = found[np.lexsort((-shells.records[found], -score[found]))]
    cost = np.where(shells.is_indexed[found], INDEXED_COST, shells.passages[found])
    budget = bounds.passages if shells.corpus_passages <= bounds.passages else bounds.passages // 2
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
            float(name[number]) if name[number] >= NEARLY else 0.0,
        )
        for number in found[in_bounds | (records_before < bounds.records)].tolist()
    ]


def _content(shells: Shells, packed: bytes | None, rarities: NDArray[Any]) -> NDArray[Any]:
    """Of each node, how much of what is rare in the question its content holds, and how often; 0 for most."""
    if not packed:
        return np.zeros(len(shells))
    given = np.frombuffer(packed, _CONTENT)
    lexeme, passages, number = given["lexeme"] - 1, given["passages"], shells.numbers(given["node_id"])
    share = rarities / rarities[np.unique(lexeme)].sum()
    known = number >= 0
    return np.bincount(number[known], (share[lexeme] * passages / (passages + 1))[known], minlength=len(shells))


def _words(shells: Shells, packed: bytes | None) -> NDArray[Any]:
    """Of each node, the share of the question's words that its shell holds; 0 for most."""
    scores = np.zeros(len(shells))
    if packed:
        given = np.frombuffer(packed, _WORDS)
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
