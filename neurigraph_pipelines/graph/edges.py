"""Writing of edges between nodes. Edges belong to the graph as a whole, so branches need not know each other.

``navigation`` reads edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.graph.naming import display_name
from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.model import PlannedEdge
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

DEFAULT_RELATION = "related to"
"""The label of a relation for which the model gave none."""

_QUERIES = statements("graph")


def write_edges(tx: Transaction, user_id: UUID, user_slug: str, edges: Sequence[PlannedEdge]) -> int:
    """Insert or strengthen planned edges; skip those with an end that does not exist.

    Edges are written in the order of their ends, so that two commits cannot deadlock.

    Returns:
        The number of written edges.
    """
    ends: set[tuple[UUID, UUID, str, float]] = set()
    for edge in edges:
        source = resolve_path(tx, user_id, user_slug, edge.from_path)
        target = resolve_path(tx, user_id, user_slug, edge.to_path)
        complete = len(source.names) == len(edge.from_path) and len(target.names) == len(edge.to_path)
        relation = display_name(edge.relation) or DEFAULT_RELATION
        if complete and source.node_id != target.node_id:
            ends.add((source.node_id, target.node_id, relation, edge.strength))
    tx.execute(_QUERIES["show_nodes"], {"node_ids": list({node_id for one in ends for node_id in one[:2]})})
    for from_node, to_node, relation, strength in sorted(ends):
        tx.execute(
            _QUERIES["upsert_edge"],
            {
                "user_id": user_id,
                "from_node_id": from_node,
                "to_node_id": to_node,
                "relation": relation,
                "strength": strength,
            },
        )
    return len(ends)
