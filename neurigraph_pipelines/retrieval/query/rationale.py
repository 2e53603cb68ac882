"""The rationale of a ranking: the names that a question holds, the edges that led to nodes, and the facts that lent.

Only questions with ``explain`` need it. The database says which edges and which of their evidence the caller sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.names import EXACT, NEARLY
from neurigraph_pipelines.retrieval.query.facts import RankedFact
from neurigraph_pipelines.retrieval.query.gathering import GraphView
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.retrieval.query.weights import WEIGHTS

MAX_EDGES = 20
"""Most edges of a rationale, the strongest."""

MAX_EVIDENCE = 3
"""Most pieces of evidence that it names of each, the newest."""

_QUERIES = statements("fact_search")


@dataclass(frozen=True, slots=True)
class Rationale:
    """What moved a ranking.

    Attributes:
        names: The nodes that the question names.
        edges: The edges between those and other nodes that were searched.
        facts: The facts that lent a score to messages, the most first.
    """

    names: Sequence[Mapping[str, Any]]
    edges: Sequence[Mapping[str, Any]]
    facts: Sequence[RankedFact]

    def shown(self) -> dict[str, list[dict[str, Any]]]:
        """Return it as plain values that the caller may change."""
        return {
            "names": [dict(one) for one in self.names],
            "edges": [{**one, "evidence": [dict(each) for each in one["evidence"]]} for one in self.edges],
            "facts": [{"fact_id": one.fact_id, "lent": round(one.lent, 6)} for one in self.facts],
        }


def rationale_of(
    context: Context, view: GraphView, anchors: Sequence[Anchor], facts: Sequence[RankedFact]
) -> Rationale:
    """Return what moved the ranking of a question.

    Args:
        anchors: The nodes that were searched.
        facts: Those in the ranking; the ones that lent nothing are left out.
    """
    named = np.flatnonzero(view.scores.name).tolist()
    lent = sorted((one for one in facts if one.lent > 0), key=lambda one: -one.lent)
    return Rationale([_name(view, number) for number in named], _edges(context, view, named, anchors), lent)


def _name(view: GraphView, number: int) -> dict[str, Any]:
    node_id, _, path = view.shells.location(number)
    score = view.scores.name.item(number)
    match = "exact" if score == EXACT else "nearly" if score >= NEARLY else "begun"
    added = WEIGHTS["name"] * score if score >= NEARLY else 0.0
    return {"node_id": node_id, "node_path": path, "match": match, "added": round(added, 6)}


def _edges(context: Context, view: GraphView, named: Sequence[int], anchors: Sequence[Anchor]) -> list[dict[str, Any]]:
    """Return the edges that count: those of names that the question holds as a whole."""
    whole = {number: view.shells.location(number) for number in named if view.scores.name[number] >= NEARLY}
    paths = {anchor.node_id: anchor.path for anchor in anchors} | {one[0]: one[2] for one in whole.values()}
    if not whole:
        return []
    parameters = {
        "named": [UUID(one[0]) for one in whole.values()],
        "searched": [UUID(anchor.node_id) for anchor in anchors],
        "most": MAX_EDGES,
        "evidence": MAX_EVIDENCE,
    }
    return [
        {
            **row,
            "from_node_path": paths[str(row["from_node_id"])],
            "to_node_path": paths[str(row["to_node_id"])],
            "strength": round(row["strength"], 6),
        }
        for row in context.database.ask(context.claims, _QUERIES["edges_of_names"], parameters)
    ]
