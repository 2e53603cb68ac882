"""Candidates: nodes that do not exist yet, the records that mention them, and the relations that wait for them.

What a candidate is worth follows from its mentions by trigger; ``ingestion.placement_rules`` decides when it suffices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.edges import DEFAULT_RELATION, Places
from neurigraph_pipelines.graph.naming import display_name, name_key
from neurigraph_pipelines.graph.witnesses import Witness
from neurigraph_pipelines.model import ConceptKind, NodeCandidate, PlannedNode
from neurigraph_pipelines.model.ports import Transaction

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


def promote_candidates(tx: Transaction, places: Places, nodes: Iterable[PlannedNode]) -> None:
    """Give the mentions and waiting relations of candidates to the nodes that they have become."""
    for node in sorted(set(nodes), key=lambda node: node.path):
        wanted = {
            "user_id": places.user_id,
            "concept_kind": node.kind.value,
            "name_keys": [name_key(name) for name in (node.path[-1], *node.aliases)],
            "parent_path": list(node.path[:-1]),
        }
        ids = [row["candidate_id"] for row in tx.execute(_QUERIES["promote_candidate"], wanted)]
        if ids:
            _promote(tx, ids, places.find(node.path))


def _promote(tx: Transaction, candidate_ids: list[UUID], node_id: UUID | None) -> None:
    values = {"candidate_ids": candidate_ids, "node_id": node_id}
    if node_id is not None:
        tx.execute(_QUERIES["promote_relations"], values)  # first: a candidate without mentions is gone
        tx.execute(_QUERIES["promote_mentions"], values)
    tx.execute(_QUERIES["delete_candidates"], values)


def add_candidates(tx: Transaction, places: Places, candidates: Sequence[tuple[Witness, NodeCandidate]]) -> None:
    """Add the weights of one segment, in a statement for each table that locks candidates in the same order.

    What belongs to a candidate that another commit has made a node meanwhile goes to the node.
    """
    rows = [
        {
            "candidate_id": str(_id_of(places.user_id, one)),
            "concept_kind": one.kind.value,
            "name_key": name_key(one.name),
            "node_name": one.name,
            "parent_path": list(one.parent),
            "confidence": one.confidence,
            "record_id": str(witness.record_id),
            "detected_by": witness.detected_by.value,
            "messages": witness.messages_with(one.name),
        }
        for witness, one in candidates
    ]
    if not rows:
        return
    values = {"user_id": places.user_id, "candidates": Jsonb(rows)}
    tx.execute(_QUERIES["remember_candidates"], values)
    tx.execute(_QUERIES["mention_candidates"], values)
    waiting = [row for (witness, one) in candidates for row in _waiting(places, witness, one)]
    if waiting:
        tx.execute(_QUERIES["add_waiting"], values | {"most": MAX_WAITING_EDGES, "waiting": Jsonb(waiting)})
    for row in tx.execute(_QUERIES["nodes_of_candidates"], values).fetchall():
        _promote(tx, [row["candidate_id"]], row["node_id"])


def _waiting(places: Places, witness: Witness, candidate: NodeCandidate) -> list[dict[str, object]]:
    """Return the relations that wait until the candidate is a node."""
    waiting = {
        (node_id, display_name(edge.relation) or DEFAULT_RELATION): edge.strength
        for edge in candidate.edges
        if (node_id := places.find(edge.from_path)) is not None
    }
    return [
        {
            "candidate_id": str(_id_of(places.user_id, candidate)),
            "from_node_id": str(node_id),
            "relation": relation,
            "weight": strength,
            "record_id": str(witness.record_id),
            "detected_by": witness.detected_by.value,
            "messages": witness.messages_with(candidate.name),
        }
        for (node_id, relation), strength in waiting.items()
    ]


def move_candidates(tx: Transaction, user_id: UUID, paths: Mapping[Path, Path]) -> None:
    """Change the paths of candidates after nodes were moved, renamed or merged. Two of one path become one.

    Args:
        tx: A transaction of the owner that has locked the graph exclusively.
        user_id: The user.
        paths: The old and new path of every changed node: names from layer 1 down.
    """
    for row in tx.execute(_QUERIES["all_candidates"], {"user_id": user_id}).fetchall() if paths else ():
        parent = paths.get(tuple(row["parent_path"]))
        if parent is None:
            continue
        candidate = NodeCandidate(row["node_name"], ConceptKind(row["concept_kind"]), parent, 0.0)
        values = {
            "candidate_id": _id_of(user_id, candidate),
            "former_id": row["candidate_id"],
            "parent_path": list(parent),
        }
        known = tx.execute(_QUERIES["is_candidate"], values).fetchone()
        joins = known is not None and known["present"] and values["candidate_id"] != values["former_id"]
        tx.execute(_QUERIES["join_candidates"] if joins else _QUERIES["move_candidate"], values)


def _id_of(user_id: UUID, candidate: NodeCandidate) -> UUID:
    return uuid5(
        user_id, json.dumps([candidate.kind.value, name_key(candidate.name), *map(name_key, candidate.parent)])
    )
