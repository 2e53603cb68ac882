"""Step 4, select: which nodes are searched, in which order, and why. Pure functions of the gathered values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.index.names import NEARLY
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.gathering import Gathered
from neurigraph_pipelines.retrieval.query.words import WordCounts

SEARCHED = 1 / 5
"""A graph of twice the passages that are searched as a whole is searched up to this share of that bound, and a larger
one, too; in between the share falls evenly, so that a few passages more never leave most nodes out. In a
graph of LoCoMo and QMSum together (6,369 passages in 22 nodes) recall at 10 is 0.805 to 0.808 from a seventh of the
bound to its whole, 0.775 with an eighth, and 0.815 when everything is searched."""

OUTSIZED = 8
"""So many times the passages of the median node are what a larger node counts for: a flood is compared, but takes only
a fair share of the bound from the other nodes."""


class Anchor(NamedTuple):
    """A node that is searched.

    Attributes:
        number: The number of the node among the shells.
        version: The version of its layer; None if that may not be cached.
        path: The names down to it.
        reason: The strongest sign for it: ``name``, ``edge``, ``words`` or ``centroid``.
        score: How strong the sign is, 0 to 1, comparable within one question.
        boost: How surely the question names it, 0 to 1.
    """

    number: int
    node_id: str
    version: str | None
    path: str
    reason: str
    score: float
    boost: float


def nodes_if_all(gathered: Gathered) -> list[int] | None:
    """Return the numbers of all nodes that may be searched, if all of them are; None if a part is selected."""
    shells, bounds = gathered.view.shells, gathered.view.bounds
    found = np.flatnonzero(gathered.view.scores.inside & (shells.records > 0))
    fits = len(found) <= bounds.nodes and int(_costs(shells, bounds.passages)[found].sum()) <= bounds.passages
    return found.tolist() if fits or len(found) == 1 else None


@measured("search.select")
def select_nodes(gathered: Gathered, words: WordCounts) -> list[Anchor]:
    """Return the nodes to search, best first.

    Few nodes are all searched. Of many, those are searched for which there is a sign: a name, an edge to a named
    node, rare words in the content, words of the shell, and, where the question names no node, the centroid.
    """
    shells, bounds, scores = gathered.view.shells, gathered.view.bounds, gathered.view.scores
    word = words.content_scores(len(shells)) + 0.5 * gathered.in_shells
    score = np.maximum(np.maximum(scores.name, scores.linked), 0.5 * (np.minimum(word, 1) + scores.centroid))
    searched = scores.inside & (shells.records > 0)
    is_all = nodes_if_all(gathered) is not None
    if not (is_all or scores.are_few):
        searched &= _with_signs(shells, scores.inside, score > 0, bounds.records)
    found = np.flatnonzero(searched)
    found = found[np.lexsort((-shells.records[found], -score[found]))]
    costs = _costs(shells, bounds.passages)
    records, cost, budget = shells.records[found], costs[found], _budget(int(costs.sum()), bounds.passages)
    fits = (np.arange(len(found)) < bounds.nodes) & (np.cumsum(cost) - cost < budget)
    found = found[fits | (np.cumsum(records) - records < bounds.records) | is_all]
    parts = np.array((score, scores.name, scores.linked, word - scores.centroid))[:, found].T.tolist()
    return [
        Anchor(
            number,
            *shells.location(number),
            "name" if name else "edge" if linked else "words" if by_words >= 0 else "centroid",
            min(total, 1.0),
            name if name >= NEARLY else 0.0,
        )
        for number, (total, name, linked, by_words) in zip(found.tolist(), parts, strict=True)
    ]


def _costs(shells: Shells, bound: int) -> NDArray[Any]:
    """Return the cost of searching each node, in passages; the passages of a flooding source count a fair share.

    Half of the nodes would have to be flooded to change the median. Small graphs have no outsized nodes.
    """
    share = max(OUTSIZED * shells.median_passages, bound / 20)
    return np.minimum(shells.passages, int(share))


def _budget(corpus: int, bound: int) -> int:
    """Return how many passages are compared: all up to the bound, and less and less up to twice the bound."""
    return bound - int((1 - SEARCHED) * min(max(corpus - bound, 0), bound))


def _with_signs(shells: Shells, inside: NDArray[Any], has_sign: NDArray[Any], wanted: int) -> NDArray[Any]:
    """Return the nodes with a sign, and the largest others if those hold fewer records than are wanted."""
    if shells.records[has_sign & inside].sum() >= wanted:
        return has_sign
    largest = np.flatnonzero(inside)
    largest = largest[np.argsort(-shells.records[largest], kind="stable")][:wanted]
    searched = has_sign.copy()
    searched[largest] = True
    return searched
