"""Where a question is searched: which nodes, in which order, and why.

Pure functions of the shells, and of what the database found to speak for nodes; what they hold is for ``ranking``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.names import EXACT, NEARLY
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.shells import Shells

INDEXED_COST = 1_500
"""A node that is searched by its indexes costs about as much as so many passages that are compared one by one."""

SEARCHED = 1 / 5
"""Of a graph that is not searched as a whole so many of the passages that would be. In a graph of LoCoMo and QMSum
together (6,369 passages in 22 nodes) recall at 10 is 0.805 to 0.808 from a seventh of that bound to its whole, 0.775
with an eighth, and 0.815 when everything is searched."""

LINKED = 0.6
"""What an edge is worth that leads to a node which the question names."""

_CONTENT = np.dtype([("lexeme", ">i4"), ("node_id", "S16"), ("passages", ">i4")])
_WORDS = np.dtype([("node_id", "S16"), ("score", ">f4")])


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node that is searched.

    Attributes:
        number: Of the node among the shells.
        version: Of what it holds; None where nothing of it may be kept.
        path: The names down to it.
        reason: ``name``, ``edge``, ``words`` or ``centroid``: what speaks for it most.
        score: How strongly, 0 to 1, comparable within one question.
        boost: How surely the question names it, 0 to 1.
    """

    number: int
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
        passages: Most passages of a graph that is searched as a whole; of larger ones a share, for there is no
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
    word = _content(shells, evidence["content"], rarities) + 0.5 * _words(shells, evidence["words"])
    score = np.maximum(np.maximum(leads.name, leads.linked), 0.5 * (np.minimum(word, 1) + leads.near))
    searched = leads.inside & (shells.records > 0)
    if not leads.are_few:
        searched &= _pointed_out(shells, leads.inside, score > 0, bounds.records)
    found = np.flatnonzero(searched)
    found = found[np.lexsort((-shells.records[found], -score[found]))]
    records, cost = shells.records[found], np.where(shells.is_indexed[found], INDEXED_COST, shells.passages[found])
    budget = bounds.passages if shells.corpus_passages <= bounds.passages else int(SEARCHED * bounds.passages)
    fits = (np.arange(len(found)) < bounds.nodes) & (np.cumsum(cost) - cost < budget)
    found = found[fits | (np.cumsum(records) - records < bounds.records)]
    scores = np.array((score, leads.name, leads.linked, word - leads.near))[:, found].T.tolist()
    return [
        Anchor(
            number,
            shells.node_id(number),
            shells.version(number),
            shells.path(number),
            "name" if name else "edge" if linked else "words" if by_words >= 0 else "centroid",
            min(total, 1.0),
            name if name >= NEARLY else 0.0,
        )
        for number, (total, name, linked, by_words) in zip(found.tolist(), scores, strict=True)
    ]


def _content(shells: Shells, packed: bytes | None, rarities: NDArray[Any]) -> NDArray[Any]:
    """Of each node, how much of what is rare in the question its content holds, and how often; 0 for most."""
    if not packed:
        return np.zeros(len(shells))
    given = np.frombuffer(packed, _CONTENT)
    lexeme, passages, number = given["lexeme"] - 1, given["passages"], shells.numbers(given["node_id"])
    told = np.bincount(lexeme, minlength=len(rarities)) > 0
    share = rarities[lexeme] / rarities[told].sum() * passages / (passages + 1)
    # One that came since is not among the shells.
    return np.bincount(number + 1, share, minlength=len(shells) + 1)[1:]


def _words(shells: Shells, packed: bytes | None) -> NDArray[Any]:
    """Of each node, the share of the question's words that its shell holds; 0 for most."""
    if not packed:
        return np.zeros(len(shells))
    given = np.frombuffer(packed, _WORDS)
    return np.bincount(shells.numbers(given["node_id"]) + 1, given["score"], minlength=len(shells) + 1)[1:]


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
