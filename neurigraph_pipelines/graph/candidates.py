"""Candidates: stored evidence for nodes that do not exist yet, and the relations that wait for them.

Storage only; ``ingestion.placement_rules`` decides when the evidence suffices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import ConceptKind, NodeCandidate, PlannedEdge, PlannedNode
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

MAX_CANDIDATES = 2_000
"""Maximum number of a user's candidates in an outline, the likeliest first."""

MAX_WAITING_EDGES = 16
"""Maximum number of relations that wait for one candidate; further ones are dropped."""

Path = tuple[str, ...]
"""Names of nodes from layer 1 down."""

_QUERIES = statements("candidates")


def candidates_of(tx: Transaction, user_id: UUID) -> tuple[NodeCandidate, ...]:
    """Return the likeliest candidates of a user, without their waiting relations."""
    return tuple(
        NodeCandidate(
            row["node_name"],
            ConceptKind(row["concept_kind"]),
            tuple(row["parent_path"]),
            row["confidence"],
            row["segments"],
        )
        for row in tx.execute(_QUERIES["candidates_of_user"], {"user_id": user_id, "limit": MAX_CANDIDATES})
    )


def promote_candidates(tx: Transaction, user_id: UUID, nodes: Iterable[PlannedNode]) -> list[PlannedEdge]:
    """Delete the candidates of ``nodes``, which exist now.

    Returns:
        The relations that waited for them.
    """
    edges = []
    for node in sorted(set(nodes), key=lambda node: node.path):
        rows = tx.execute(
            _QUERIES["promote_candidate"],
            {
                "user_id": user_id,
                "concept_kind": node.kind.value,
                "name_keys": [name_key(name) for name in (node.path[-1], *node.aliases)],
                "parent_path": list(node.path[:-1]),
            },
        )
        edges += [
            PlannedEdge(tuple(edge["from"]), node.path, edge["label"], edge["strength"])
            for row in rows
            for edge in row["edges"]
        ]
    return edges


def add_candidates(tx: Transaction, user_id: UUID, candidates: Iterable[NodeCandidate]) -> list[PlannedEdge]:
    """Add the evidence of one segment. Every caller locks candidates in the same order.

    Returns:
        The relations to candidates that another commit has made nodes meanwhile: they need not wait.
    """
    edges: list[PlannedEdge] = []
    for candidate_id, candidate in sorted(((_id_of(user_id, one), one) for one in candidates), key=itemgetter(0)):
        identity = {
            "user_id": user_id,
            "concept_kind": candidate.kind.value,
            "name_key": name_key(candidate.name),
            "parent_path": list(candidate.parent),
        }
        node = tx.execute(_QUERIES["node_of_candidate"], identity).fetchone()
        if node is not None:
            edges += [replace(edge, to_path=tuple(node["names"])) for edge in candidate.edges]
            continue
        waiting = [
            {"from": list(edge.from_path), "label": edge.relation, "strength": edge.strength}
            for edge in candidate.edges[:MAX_WAITING_EDGES]
        ]
        tx.execute(
            _QUERIES["remember_candidate"],
            {
                **identity,
                "candidate_id": candidate_id,
                "node_name": candidate.name,
                "confidence": candidate.confidence,
                "edges": Jsonb(waiting),
                "max_edges": MAX_WAITING_EDGES,
            },
        )
    return edges


def move_candidates(tx: Transaction, user_id: UUID, paths: Mapping[Path, Path]) -> None:
    """Change the paths of candidates and their relations after nodes were moved, renamed or merged.

    Args:
        tx: A transaction of the owner that has locked the graph exclusively.
        user_id: The user.
        paths: The old and new path of every changed node: names from layer 1 down.
    """
    moved = []
    for row in tx.execute(_QUERIES["all_candidates"], {"user_id": user_id}).fetchall() if paths else ():
        parent = paths.get(tuple(row["parent_path"]), tuple(row["parent_path"]))
        edges = [{**edge, "from": list(paths.get(tuple(edge["from"]), edge["from"]))} for edge in row["edges"]]
        if (list(parent), edges) != (row["parent_path"], row["edges"]):
            tx.execute(_QUERIES["delete_candidate"], {"candidate_id": row["candidate_id"]})
            moved.append((row, parent, edges))
    for row, parent, edges in moved:
        candidate = NodeCandidate(row["node_name"], ConceptKind(row["concept_kind"]), parent, row["confidence"])
        tx.execute(
            _QUERIES["upsert_candidate"],
            {
                **row,
                "user_id": user_id,
                "candidate_id": _id_of(user_id, candidate),
                "parent_path": list(parent),
                "edges": Jsonb(edges),
                "max_edges": MAX_WAITING_EDGES,
            },
        )


def _id_of(user_id: UUID, candidate: NodeCandidate) -> UUID:
    return uuid5(
        user_id, json.dumps([candidate.kind.value, name_key(candidate.name), *map(name_key, candidate.parent)])
    )
