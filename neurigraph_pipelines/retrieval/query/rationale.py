"""The rationale of a ranking: the names that a question holds, the edges that led to nodes, and the facts that lent.

Only questions with ``explain`` need it. The database says which edges and which of their evidence the caller sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.names import EXACT, NEARLY
from neurigraph_pipelines.retrieval.query.facts import RankedFact
from neurigraph_pipelines.retrieval.query.gathering import GraphView
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.retrieval.query.weights import WEIGHTS
from neurigraph_pipelines.views.search import EdgeOfName, LendingFact, NamedNode, Rationale

MAX_EDGES = 20
"""Most edges of a rationale, the strongest."""

MAX_EVIDENCE = 3
"""Most pieces of evidence that it names of each, the newest."""

_QUERIES = statements("fact_search")


def rationale_of(
    context: Context, view: GraphView, anchors: Sequence[Anchor], facts: Sequence[RankedFact]
) -> Rationale:
    """Return the names, edges and facts that moved the ranking of a question.

    Args:
        anchors: The nodes that were searched.
        facts: Those in the ranking; the ones that lent nothing are left out.
    """
    named = np.flatnonzero(view.scores.name).tolist()
    lent = sorted((one for one in facts if one.lent > 0), key=lambda one: -one.lent)
    return Rationale(
        names=[_name(view, number) for number in named],
        edges=_edges(context, view, named, anchors),
        facts=[LendingFact(fact_id=UUID(one.fact_id), lent=round(one.lent, 6)) for one in lent],
    )


def _name(view: GraphView, number: int) -> NamedNode:
    node_id, _, path = view.shells.location(number)
    score = view.scores.name.item(number)
    added = WEIGHTS["name"] * score if score >= NEARLY else 0.0
    return NamedNode(
        node_id=UUID(node_id),
        node_path=path,
        match="exact" if score == EXACT else "nearly" if score >= NEARLY else "begun",
        added=round(added, 6),
    )


def _edges(context: Context, view: GraphView, named: Sequence[int], anchors: Sequence[Anchor]) -> list[EdgeOfName]:
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
        EdgeOfName.model_validate(
            {
                **row,
                "from_node_path": paths[str(row["from_node_id"])],
                "to_node_path": paths[str(row["to_node_id"])],
                "strength": round(row["strength"], 6),
            }
        )
        for row in context.database.ask(context.claims, _QUERIES["edges_of_names"], parameters)
    ]
