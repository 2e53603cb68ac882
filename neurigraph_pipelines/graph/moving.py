"""Records that come to lie in another node: moved one by one, or split off into a node of their own.

Their objects stay where they are, their history goes on, and the shells of both nodes are derived anew. Moving whole
nodes is in ``reshaping``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.graph.changes import (
    GraphChange,
    GraphNode,
    changing,
    node_and_below,
    refuse_taken_name,
    require_owner_of,
)
from neurigraph_pipelines.graph.locks import lock_rows
from neurigraph_pipelines.graph.naming import checked_name
from neurigraph_pipelines.graph.provisioning import resolve_path, upgrade_node
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.history import author_of
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims, ConceptKind, PlannedNode
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

MAX_RECORDS = 10_000
"""Most records that are named one by one."""

_QUERIES = statements("graph_changes")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which records of a node are split off: those of which all that is said here is true.

    Attributes:
        record_ids: They are among these.
        keyword: It is one of their keywords, in any case.
        occurred_after: They happened then or later.
        occurred_before: They happened before then.
    """

    record_ids: Sequence[UUID] | None = None
    keyword: str | None = None
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None


def move_records(
    database: Database, claims: Claims, record_ids: Collection[UUID], to_node_id: UUID, *, dry_run: bool = False
) -> GraphChange:
    """Let records lie in another node, all of them or none; those that lie there already stay.

    Raises:
        InvalidInputError: No record is named, or too many.
        NotFoundError: A record or the node is absent, or not visible to whoever asks.
        ForbiddenError: Whoever asks sees them all, and may not write to one of their nodes.
        RehydratingError: A file of theirs is being decompressed at this moment.
        TransientError: Others read or write there all the time.
    """
    wanted = set(record_ids)
    if not 0 < len(wanted) <= MAX_RECORDS:
        raise InvalidInputError(f"name 1 to {MAX_RECORDS:,} records to move")
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["sees_records"], {"record_ids": list(wanted)}).fetchall()
        rows += tx.execute(_QUERIES["sees_node"], {"node_id": to_node_id}).fetchall()
    if len(rows) != len(wanted) + 1:
        raise NotFoundError
    if not all(row["may_write"] for row in rows):
        raise ForbiddenError("records are moved by whoever may write to the nodes that they leave and enter")
    with changing(database, claims, dry_run) as (tx, slug):
        target = node_and_below(tx, claims.user_id, to_node_id)[0]
        places = tx.execute(_QUERIES["nodes_of_records"], {"user_id": claims.user_id, "record_ids": list(wanted)})
        found = {place["node_id"]: place["record_ids"] for place in places}
        if sum(map(len, found.values())) != len(wanted):
            raise NotFoundError
        leaving = {
            node_and_below(tx, claims.user_id, node_id)[0]: ids
            for node_id, ids in sorted(found.items())
            if node_id != to_node_id
        }
        if leaving:
            _take(tx, target, leaving)
            for source, ids in leaving.items():
                carry(tx, ids, source, target, author_of(claims))
            for node in (*leaving, target):
                rebuild_shell(tx, node.node_id, slug)
    return GraphChange(to_node_id, target.path, records=sum(map(len, leaving.values())), dry_run=dry_run)


def split_node(
    database: Database,
    claims: Claims,
    node_id: UUID,
    name: str,
    chosen: Chosen,
    *,
    beside: bool = False,
    kind: ConceptKind = ConceptKind.TOPIC,
    dry_run: bool = False,
) -> GraphChange:
    """Let some records of a node have a node of their own, below it or beside it.

    Raises:
        InvalidInputError: The name is empty or too long, nothing says which records, or none is such.
        NotFoundError: The node, or a record that is named, is absent or not visible to whoever asks.
        ForbiddenError: Whoever asks does not own the graph.
        ConflictError: The name is taken there, the node would lie below layer 5, or beside the root.
        RehydratingError: A file of these records is being decompressed at this moment.
        TransientError: Others read or write there all the time.
    """
    shown = checked_name(name)
    if chosen == Chosen():
        raise InvalidInputError("say which records to split off: by their ids, a keyword, or when they happened")
    if kind is ConceptKind.USER:
        raise InvalidInputError("only the root of a graph stands for its user: choose another kind")
    require_owner_of(database, claims, node_id)
    with changing(database, claims, dry_run) as (tx, slug):
        source, *below = node_and_below(tx, claims.user_id, node_id)
        parent = source
        if beside:
            if source.parent_node_id is None:
                raise ConflictError("nothing lies beside the root of a graph: split below it")
            parent, *below = node_and_below(tx, claims.user_id, source.parent_node_id)
        if parent.layer_depth == MAX_LAYER_DEPTH:
            raise ConflictError(f"{parent.path} lies in layer {MAX_LAYER_DEPTH}, the deepest: split beside it")
        refuse_taken_name(below, parent, shown)
        upgrade_node(tx, node_id, source.schema_name)
        record_ids = _chosen(tx, source, chosen)
        path = (*parent.names[1:], shown)
        made = resolve_path(tx, claims.user_id, slug, path, [PlannedNode(path, kind, confidence=1.0)])
        target = node_and_below(tx, claims.user_id, made.node_id)[0]
        lock_rows(tx, {source.schema_name: record_ids}, [node_id, target.node_id])
        carry(tx, record_ids, source, target, author_of(claims))
        for node in (source, target):
            rebuild_shell(tx, node.node_id, slug)
    return GraphChange(None if dry_run else target.node_id, target.path, records=len(record_ids), dry_run=dry_run)


def carry(tx: Transaction, record_ids: Collection[UUID], source: GraphNode, target: GraphNode, author: str) -> None:
    """Take locked records over from one node to another, and append the delta of each."""
    if not record_ids:
        return
    places = {"record_ids": list(record_ids), "from_node": source.node_id, "to_node": target.node_id}
    tx.execute(_QUERIES["move_records"], places)
    tx.execute(_QUERIES["append_moves"], {**places, "from_path": source.path, "to_path": target.path, "author": author})


def records_of(tx: Transaction, node: GraphNode, chosen: Chosen) -> list[UUID]:
    """Records of a node, by what is said of them."""
    query = _QUERIES["chosen_records"].format(schema=sql.Identifier(node.schema_name))
    ids = list(chosen.record_ids) if chosen.record_ids is not None else None
    return [row["record_id"] for row in tx.execute(query, {**asdict(chosen), "record_ids": ids})]


def _chosen(tx: Transaction, node: GraphNode, chosen: Chosen) -> list[UUID]:
    """The records to split off, each of those that are named among them being there."""
    named = set(chosen.record_ids or ())
    if len(named) > MAX_RECORDS:
        raise InvalidInputError(f"name at most {MAX_RECORDS:,} records")
    if named and len(records_of(tx, node, Chosen(list(named)))) != len(named):
        raise NotFoundError
    found = records_of(tx, node, chosen)
    if not found:
        raise InvalidInputError("no record of this node is such: nothing was split off")
    return found


def _take(tx: Transaction, target: GraphNode, leaving: dict[GraphNode, list[UUID]]) -> None:
    for node in (*leaving, target):
        upgrade_node(tx, node.node_id, node.schema_name)
    records = {node.schema_name: ids for node, ids in leaving.items()}
    lock_rows(tx, records, [node.node_id for node in (*leaving, target)])
