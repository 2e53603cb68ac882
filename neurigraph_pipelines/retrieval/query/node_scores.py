"""Scores of nodes that follow from a graph's shells alone: names, edges and centroids.

They do not need the database, so they are computed while it works on the rest of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.index.names import EXACT, NEARLY
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.shells import Shells

LINKED = 0.6
"""The score of an edge that leads to a node which the question names."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is searched.

    Attributes:
        within: The number of the node below which to search, itself included; None for the whole graph.
        nodes: Most nodes.
        passages: Most passages of a graph that is searched as a whole; larger graphs are searched in part.
        records: Fewest records, if there are as many: a bound on nodes must not become a bound on hits.
    """

    within: int | None
    nodes: int
    passages: int
    records: int


@dataclass(frozen=True, slots=True)
class NodeScores:
    """Scores of each node, 0 to 1.

    Attributes:
        inside: Whether the node may be searched at all.
        are_few: Whether so few nodes may be searched that all are.
        name: How surely the question names it.
        linked: The score of an edge to a node that the question names.
        centroid: The cosine of its centroid and the question, for the nearest nodes; 0 for the others.
    """

    inside: NDArray[np.bool_]
    are_few: bool
    name: NDArray[Any]
    linked: NDArray[Any]
    centroid: NDArray[Any]


def score_nodes(
    shells: Shells, query: str, lexemes: Sequence[str], vector: Floats | None, bounds: Bounds
) -> NodeScores:
    """Score nodes by names, edges and, where the question names no node exactly, centroids.

    Args:
        vector: The embedding of the question, as wide as those of passages; None if it cannot be compared.
    """
    inside = np.ones(len(shells), bool) if bounds.within is None else shells.below(bounds.within)
    are_few = bool(np.count_nonzero(inside) <= 2 * bounds.nodes)
    named = enriched("nodes named", lambda: shells.names.named(query, lexemes), dict[int, float])
    name, linked, centroid = np.zeros((3, len(shells)))
    name[list(named)] = list(named.values())
    for number, score in named.items():
        if score >= NEARLY:
            linked[shells.neighbours(number)] = LINKED
    if vector is not None and (are_few or EXACT not in named.values()):
        centroid = _nearest(shells.cosines(vector, 2 * bounds.nodes), 2 * bounds.nodes)
    return NodeScores(inside, are_few, name, linked, centroid)


def _nearest(cosines: NDArray[Any], most: int) -> NDArray[Any]:
    """Return the positive cosines of the ``most`` nearest nodes, and 0 for all others."""
    nearest = np.where(cosines > 0, cosines, 0)
    if len(nearest) > most:
        nearest[np.argpartition(-nearest, most)[most:]] = 0
    return nearest
