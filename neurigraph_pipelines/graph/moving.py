"""Moving of records to another node, and splitting records off into a new node.

Objects keep their keys, histories continue, and the shells of both nodes are rebuilt. ``reshaping`` moves whole nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from psycopg import sql
from pydantic import Field

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import (
    GraphNode,
    change_graph,
    node_and_below,
    require_free_name,
    require_owner_of,
)
from neurigraph_pipelines.graph.history import author_of, authored
from neurigraph_pipelines.graph.locks import lock_rows
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH, checked_name
from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims, ConceptKind, PlannedNode
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.graph import GraphChange
from neurigraph_pipelines.views.scalars import ValuesByName

MAX_RECORDS = 10_000
"""Maximum number of records in a list of ids."""

_CONDITIONS = ("record_ids", "keyword", "occurred_after", "occurred_before")
_QUERIES = statements("graph_changes")
_ACTIONS = statements("actions")


DRY_RUN = Field(default=False, description="Return the planned changes, and change nothing.")


class Split(Form):
    """A new node, and the records that move to it: all that meet the conditions."""

    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH})
    kind: ConceptKind = ConceptKind.TOPIC
    beside: bool = Field(default=False, description="Create the new node beside this one instead of below it.")
    record_ids: list[UUID] | None = Field(default=None, max_length=MAX_RECORDS)
    keyword: str | None = Field(default=None, description="A keyword of the records; case is ignored.")
    occurred_after: datetime | None = Field(default=None, description="Records of events at this time or later.")
    occurred_before: datetime | None = Field(default=None, description="Records of events before this time.")
    dry_run: bool = DRY_RUN

    @property
    def conditions(self) -> ValuesByName:
        """The conditions on the records by name."""
        return self.model_dump(include=set(_CONDITIONS))


def move_records(
    database: Database,
    claims: Claims,
    record_ids: Collection[UUID],
    to_node_id: UUID,
    *,
    dry_run: bool = False,
    guard: Guard = FREE,
) -> GraphChange:
    """Move records to another node, all or none. Records already there stay.

    Raises:
        InvalidInputError: No record is given, or too many are.
        NotFoundError: A record or the node does not exist, or is not visible to the caller.
        ForbiddenError: The caller sees them all, but may not write to one of the nodes.
        RehydratingError: A file of a record is being decompressed.
        TransientError: Rows stayed locked by others for too long.
    """
    wanted = set(record_ids)
    if not 0 < len(wanted) <= MAX_RECORDS:
        raise InvalidInputError(f"name 1 to {MAX_RECORDS:,} records to move")
    _require_writable(database, claims, wanted, to_node_id)
    with change_graph(database, claims, dry_run, guard) as (tx, slug):
        target = node_and_below(tx, claims.user_id, to_node_id)[0]
        sources = tx.execute(_QUERIES["nodes_of_records"], {"user_id": claims.user_id, "record_ids": list(wanted)})
        found = {source["node_id"]: source["record_ids"] for source in sources}
        if sum(map(len, found.values())) != len(wanted):
            raise NotFoundError
        leaving = [
            (node_and_below(tx, claims.user_id, node_id)[0], ids)
            for node_id, ids in sorted(found.items())
            if node_id != to_node_id
        ]
        if leaving:
            records = {node.schema_name: ids for node, ids in leaving}
            touched = [*(node.node_id for node, _ in leaving), target.node_id]
            lock_rows(tx, records, touched)
            for source, ids in leaving:
                transfer_records(tx, ids, source, target, author_of(claims), claims)
            for node_id in touched:
                rebuild_shell(tx, node_id, slug)
        change = GraphChange(
            node_id=to_node_id, node_path=target.path, record_count=sum(len(ids) for _, ids in leaving), dry_run=dry_run
        )
        guard.note_result(tx, change)
    return change


def _require_writable(database: Database, claims: Claims, record_ids: Collection[UUID], to_node_id: UUID) -> None:
    """Require that the caller may write to the nodes of some records, and to the node that they move to.

    Raises:
        NotFoundError: A record or the node does not exist, or is not visible to the caller.
        ForbiddenError: The caller sees them all, but may not write to one of the nodes.
    """
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["records_are_visible"], {"record_ids": list(record_ids)}).fetchall()
        rows += tx.execute(_QUERIES["node_is_visible"], {"node_id": to_node_id}).fetchall()
    if len(rows) != len(record_ids) + 1:
        raise NotFoundError
    if not all(row["may_write"] for row in rows):
        raise ForbiddenError("moving records takes the right to write to their nodes and to the target node")


def split_node(database: Database, claims: Claims, node_id: UUID, split: Split, *, guard: Guard = FREE) -> GraphChange:
    """Move some records of a node into a new node, below or beside it.

    Raises:
        InvalidInputError: The name is empty or too long, the filter is empty, or no record matches.
        NotFoundError: The node or a given record does not exist, or is not visible to the caller.
        ForbiddenError: The caller does not own the graph.
        ConflictError: The name is taken there, or the node would be below layer 5 or beside the root.
        RehydratingError: A file of these records is being decompressed.
        TransientError: Rows stayed locked by others for too long.
    """
    shown = checked_name(split.name)
    if all(one is None for one in split.conditions.values()):
        raise InvalidInputError("say which records to split off: by their ids, a keyword, or when they happened")
    if split.kind is ConceptKind.USER:
        raise InvalidInputError("only the root of a graph stands for its user: choose another kind")
    require_owner_of(database, claims, node_id)
    with change_graph(database, claims, split.dry_run, guard) as (tx, slug):
        source, *below = node_and_below(tx, claims.user_id, node_id)
        parent, *below = _siblings(tx, claims, source) if split.beside else (source, *below)
        if parent.layer_depth == MAX_LAYER_DEPTH:
            raise ConflictError(f"{parent.path} is in layer {MAX_LAYER_DEPTH}, the deepest: split beside it")
        require_free_name(below, parent, shown)
        record_ids = _require_records(tx, source, split)
        path = (*parent.names[1:], shown)
        plan = PlannedNode(path, split.kind, confidence=1.0)
        created = resolve_path(tx, claims.user_id, slug, path, [plan], personas=True)
        target = node_and_below(tx, claims.user_id, created.node_id)[0]
        lock_rows(tx, {source.schema_name: record_ids}, [node_id, target.node_id])
        transfer_records(tx, record_ids, source, target, author_of(claims), claims)
        for node in (source, target):
            rebuild_shell(tx, node.node_id, slug)
        created_id = None if split.dry_run else target.node_id
        change = GraphChange(
            node_id=created_id, node_path=target.path, record_count=len(record_ids), dry_run=split.dry_run
        )
        guard.note_result(tx, change)
    return change


def _siblings(tx: Transaction, claims: Claims, node: GraphNode) -> list[GraphNode]:
    """Return the parent of a node with everything below it."""
    if node.parent_node_id is None:
        raise ConflictError("the root of a graph has no siblings: split below it")
    return node_and_below(tx, claims.user_id, node.parent_node_id)


def transfer_records(
    tx: Transaction,
    record_ids: Collection[UUID],
    source: GraphNode,
    target: GraphNode,
    author: str,
    caller: Claims | None = None,
) -> None:
    """Move locked records from one node to another, and append the delta of each; end proposals to move them."""
    if not record_ids:
        return
    move = {"record_ids": list(record_ids), "from_node": source.node_id, "to_node": target.node_id}
    authored(tx, author, caller)
    tx.execute(_QUERIES["move_records"], move)
    tx.execute(_ACTIONS["withdraw_moves"], {"record_ids": list(record_ids)})
    tx.execute(_QUERIES["append_moves"], {**move, "from_path": source.path, "to_path": target.path, "author": author})


def records_of(tx: Transaction, node: GraphNode, **conditions: object) -> list[UUID]:
    """Return the ids of a node's records that meet the conditions of a split; without any, of all."""
    query = _QUERIES["chosen_records"].format(schema=sql.Identifier(node.schema_name))
    return [row["record_id"] for row in tx.execute(query, {**dict.fromkeys(_CONDITIONS), **conditions})]


def _require_records(tx: Transaction, node: GraphNode, split: Split) -> list[UUID]:
    """Return the records to split off; check that all given ids exist and that at least one record matches."""
    given = set(split.record_ids or ())
    if len(records_of(tx, node, record_ids=list(given))) != len(given):
        raise NotFoundError
    found = records_of(tx, node, **split.conditions)
    if not found:
        raise InvalidInputError("no record of this node matches: nothing was split off")
    return found
