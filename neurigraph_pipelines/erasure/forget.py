"""Erasures: preview, run, and finish after a crash.

Only the owner of a graph erases. An erasure takes one transaction for a record, and several for a node or a user, each
with a bounded number of table locks. Between them the remaining data is consistent, and the erasure is recorded as
unfinished, so that repeating the request, or ``finish_erasures``, continues it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.erasure import departures
from neurigraph_pipelines.erasure.journal import (
    destroy_keys,
    entries_of_file,
    objects_of_records,
    objects_of_user,
    remove_objects,
)
from neurigraph_pipelines.erasure.receipts import Erasure, Receipt, Subject, SubjectKind, erasure, receipt
from neurigraph_pipelines.erasure.rows import RowsEraser, nodes_below
from neurigraph_pipelines.errors import ConflictError, InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.guards import FREE, Guard
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, totals_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.statements import statements

NODES_AT_ONCE = 20
"""Nodes per transaction: dropping one takes about seventy locks, of 6,400 that a server has by default."""

Progress = Callable[[str, int], None]
"""Called with ``nodes`` or ``objects``, and how many more were erased."""

_QUERIES = statements("erasure")
_OWNER = "user"


@dataclass(frozen=True, slots=True)
class Preview:
    """What an erasure would remove.

    Attributes:
        nodes: Paths of the nodes that would be erased, parents first.
        object_bytes: Size of the objects of their files.
        sources: Number of conversations, events, uploads and notes that would be erased completely; for a user, all.
        shared_sources: Number of sources that remain because of other records or unstored parts.
    """

    subject_kind: SubjectKind
    subject_id: UUID
    nodes: tuple[str, ...]
    records: int
    deltas: int
    files: int
    object_bytes: int
    sources: int
    shared_sources: int


def preview(database: Database, claims: Claims, subject: Subject) -> Preview:
    """Return what an erasure would remove, without removing anything.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
    """
    with _rows_of(database, claims) as tx:
        _require(tx, claims, subject)
        if subject.kind in (SubjectKind.RECORD, SubjectKind.FACT):
            record_id = _record_of(tx, claims.user_id, subject)
            if record_id is None:
                return Preview(subject.kind, subject.subject_id, (), 0, 0, 0, 0, 0, 0)
            return _preview_record(tx, claims, subject, record_id)
        nodes = nodes_below(tx, claims.user_id, subject.subject_id if subject.kind is SubjectKind.NODE else None)
        totals = StorageTotals()
        for start in range(0, len(nodes), NODES_AT_ONCE):
            rows = [
                {"node_id": node.node_id, "schema_name": node.schema_name}
                for node in nodes[start : start + NODES_AT_ONCE]
            ]
            totals = sum(totals_of(tx, rows).values(), totals)
        return _preview(
            tx,
            claims,
            subject,
            node_ids=[node.node_id for node in nodes],
            nodes=tuple("/".join(node.names) for node in reversed(nodes)),
            files=totals.files,
            object_bytes=totals.active_bytes + totals.dormant_bytes,
        )


def contents(database: Database, claims: Claims, subject: Subject) -> list[UUID]:
    """Return the ids of the nodes and records that an erasure would remove.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
    """
    with _rows_of(database, claims) as tx:
        _require(tx, claims, subject)
        if subject.kind in (SubjectKind.RECORD, SubjectKind.FACT):
            return [subject.subject_id]
        top = subject.subject_id if subject.kind is SubjectKind.NODE else None
        node_ids = [node.node_id for node in nodes_below(tx, claims.user_id, top)]
        rows = tx.execute(_QUERIES["records_of_nodes"], {"node_ids": node_ids})
        return [*node_ids, *(row["record_id"] for row in rows)]


def forget(
    context: Context,
    subject: Subject,
    *,
    through: str,
    on_done: Progress | None = None,
    guard: Guard = FREE,
) -> Receipt:
    """Erase a subject with all derived data, permanently.

    If the subject was erased before, this returns the same receipt. An unfinished erasure is continued.

    Args:
        through: The interface of the request, for the receipt.
        on_done: Called with the progress.
        guard: Admits the erasure as it is opened, with the graph locked; what is written after that is erased, too.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
        ConflictError: The user is the last owner of an organization.
        RehydratingError: One of its files is being decompressed. The current transaction erased nothing.
        TransientError: Others kept reading or writing it, or the object store did not answer.
        StorageError: The object store rejected a request. The rows are erased; repeating the call removes the objects.
    """
    if through != "peer":
        _require_home(context.database, subject)
    erasure_id = _begin(context.database, context.claims, subject, through, guard)
    return _carry_out(context, erasure_id, on_done or _silent)


def _require_home(database: Database, subject: Subject) -> None:
    """Require that a subject is not part of a mirror, where it would come back with the next pull.

    Raises:
        ConflictError: It is mirrored from another installation.
    """
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["is_mirrored"], {"subject_id": subject.subject_id}).fetchone()
    if row is not None and row["mirrored"]:
        raise ConflictError("this is mirrored from another installation: forget it there, or remove the peer")


def finish_erasures(context: Context) -> list[Receipt]:
    """Finish all erasures, and departures of members, that a crash or an error of the object store interrupted.

    Raises:
        NeurigraphError: The first error, as for ``forget``; the other erasures were continued.
    """
    with context.database.pipeline() as tx:
        unfinished = [row["erasure_id"] for row in tx.execute(_QUERIES["unfinished"])]
        left = departures.unsettled(tx)
    finished: list[Receipt] = []
    failures: list[NeurigraphError] = []
    for erasure_id in unfinished:
        try:
            finished.append(_carry_out(context, erasure_id, _silent))
        except NeurigraphError as error:
            failures.append(error)
    for organization_id, member_id in left:
        try:
            finished += settle_departure(context, organization_id, member_id, through="sweep") or []
        except NeurigraphError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return finished


def settle_departure(context: Context, organization_id: UUID, member_id: UUID, *, through: str) -> list[Receipt] | None:
    """Forget what goes with a member who has left an organization, as ``departures.settle`` says."""
    return departures.settle(
        context, organization_id, member_id, lambda graph, subject: forget(graph, subject, through=through)
    )


def _rows_of(database: Database, claims: Claims) -> AbstractContextManager[Transaction]:
    """Return a transaction that sees what the caller may erase: of the owner also what is in quarantine.

    Every query names the user, and the caller is checked first.
    """
    return database.owner() if claims.role == _OWNER else database.agent(claims)


def _begin(database: Database, claims: Claims, subject: Subject, through: str, guard: Guard) -> UUID:
    values = {"user_id": claims.user_id, "kind": subject.kind, "subject_id": subject.subject_id, "through": through}
    with _rows_of(database, claims) as tx:
        earlier = tx.execute(_QUERIES["latest_erasure"], values).fetchone()
        try:
            _require(tx, claims, subject)
        except NotFoundError:
            if earlier is None:
                raise
            erasure_id: UUID = earlier["erasure_id"]
            return erasure_id
    with database.owner() as tx:
        if guard is not FREE:
            lock_graph_exclusive(tx, claims.user_id)
            guard.admit(tx)
        if subject.kind is SubjectKind.USER:
            departures.close_memberships(tx, subject.subject_id)
        row = tx.execute(_QUERIES["open_erasure"], values).fetchone()
        if row is None:  # another request opened it just now; the next statement sees it
            row = tx.execute(_QUERIES["latest_erasure"], values).fetchone()
        assert row is not None
        opened: UUID = row["erasure_id"]
        return opened


def _require(tx: Transaction, claims: Claims, subject: Subject) -> None:
    """Require the owner and an existing subject; for others the subject does not exist."""
    if claims.role != _OWNER:
        raise NotFoundError
    values = {"user_id": claims.user_id, "record_id": subject.subject_id, "node_id": subject.subject_id}
    if subject.kind is SubjectKind.FACT:
        found = tx.execute(_QUERIES["record_of_fact"], {**values, "fact_id": subject.subject_id}).fetchone()
    elif subject.kind is SubjectKind.RECORD:
        found = tx.execute(_QUERIES["node_of_record"], values).fetchone()
    elif subject.kind is SubjectKind.NODE:
        found = tx.execute(_QUERIES["node_of_user"], values).fetchone()
        if found is not None and found["layer_depth"] == 0:
            raise InvalidInputError("this node is the root of the graph: erase the user instead")
    else:
        found = (
            tx.execute(_QUERIES["slug_of_user"], values).fetchone() if subject.subject_id == claims.user_id else None
        )
    if found is None:
        raise NotFoundError


def _carry_out(context: Context, erasure_id: UUID, on_done: Progress) -> Receipt:
    """Erase the rows and then the objects. Each step finds what is left to do, so it can be repeated."""
    database, objects = context.database, context.objects
    with database.owner() as tx:
        work = erasure(tx, erasure_id)
        owner = tx.execute(_QUERIES["slug_of_user"], {"user_id": work.user_id}).fetchone()

    def removed(count: int) -> None:
        on_done("objects", count)

    if not work.rows_erased and owner is not None:
        if work.subject.kind in (SubjectKind.RECORD, SubjectKind.FACT):
            _erase_record(database, objects, work, owner["slug"])
        else:
            if work.subject.kind is SubjectKind.USER:
                # First, and while nobody else can have the slug: copies in old disks and snapshots end with their key.
                destroy_keys(objects, owner["slug"])
                with database.owner() as tx:
                    RowsEraser(tx, work).inbox()
            _erase_nodes(database, objects, work, owner["slug"], on_done)
        if work.subject.kind is SubjectKind.USER:
            _settle_all(context, work.user_id)
            remove_objects(database, objects, erasure_id, removed)
            strays_of_user = list(objects_of_user(objects, owner["slug"]))
            destroy_keys(objects, owner["slug"])  # that a job made meanwhile
            with database.owner() as tx:
                RowsEraser(tx, work).user(strays_of_user)
    if not work.rows_erased:
        with database.owner() as tx:
            tx.execute(_QUERIES["set_rows_erased"], {"erasure_id": erasure_id})
    remove_objects(database, objects, erasure_id, removed)
    with database.owner() as tx:
        tx.execute(_QUERIES["set_finished"], {"erasure_id": erasure_id})
        return receipt(tx, erasure_id)


def _settle_all(context: Context, user_id: UUID) -> None:
    """Forget what a user wrote in private in organizations, while the user's memberships still say so."""
    with context.database.owner() as tx:
        left = departures.unsettled(tx, user_id)
    for organization_id, member_id in left:
        settle_departure(context, organization_id, member_id, through="forgotten user")


def _erase_record(database: Database, objects: ObjectStore, work: Erasure, slug: str) -> None:
    """Erase a record, or a fact with or without its record."""
    with database.owner() as tx:
        record_id = _record_of(tx, work.user_id, work.subject)
        if record_id is None:
            RowsEraser(tx, work).fact(work.subject.subject_id)
            return
    strays = objects_of_records(objects, slug, frozenset([record_id]))
    with database.owner() as tx:
        RowsEraser(tx, work, strays).record(record_id)


def _erase_nodes(database: Database, objects: ObjectStore, work: Erasure, slug: str, on_done: Progress) -> None:
    """Erase nodes in batches until none is left, since new ones may appear meanwhile."""
    top = work.subject.subject_id if work.subject.kind is SubjectKind.NODE else None
    strays = None
    if top is not None:  # a user's strays are removed at the end
        with database.owner() as tx:
            node_ids = [node.node_id for node in nodes_below(tx, work.user_id, top)]
            rows = tx.execute(_QUERIES["records_of_nodes"], {"node_ids": node_ids})
            record_ids = frozenset(row["record_id"] for row in rows)
        strays = objects_of_records(objects, slug, record_ids)
    while True:
        with database.owner() as tx:
            erased = RowsEraser(tx, work, strays).nodes(top, NODES_AT_ONCE)
        if not erased:
            return
        on_done("nodes", erased)


def _record_of(tx: Transaction, user_id: UUID, subject: Subject) -> UUID | None:
    """Return the record to erase: for a fact that is stated by hand, the one of its note; for other facts none."""
    if subject.kind is SubjectKind.RECORD:
        return subject.subject_id
    row = tx.execute(_QUERIES["record_of_fact"], {"user_id": user_id, "fact_id": subject.subject_id}).fetchone()
    return row["record_id"] if row is not None and row["is_by_hand"] else None


def _preview_record(tx: Transaction, claims: Claims, subject: Subject, wanted: UUID) -> Preview:
    place = tx.execute(_QUERIES["node_of_record"], {"user_id": claims.user_id, "record_id": wanted}).fetchone()
    assert place is not None
    schema = sql.Identifier(place["schema_name"])
    files = tx.execute(_QUERIES["files"].format(schema=schema), {"record_id": wanted}).fetchall()
    return _preview(
        tx,
        claims,
        subject,
        record_id=wanted,
        files=len(files),
        object_bytes=sum(entry.size_bytes or 0 for file in files for entry in entries_of_file(file)),
    )


def _preview(
    tx: Transaction,
    claims: Claims,
    subject: Subject,
    *,
    files: int,
    object_bytes: int,
    nodes: tuple[str, ...] = (),
    record_id: UUID | None = None,
    node_ids: list[UUID] | None = None,
) -> Preview:
    row = tx.execute(
        _QUERIES["preview"], {"user_id": claims.user_id, "record_id": record_id, "node_ids": node_ids}
    ).fetchone()
    assert row is not None
    if subject.kind is SubjectKind.USER:
        inbox = tx.execute(_QUERIES["count_of_inbox"], {"user_id": claims.user_id}).fetchone()
        assert inbox is not None
        row["sources"] = inbox["sources"]
    return Preview(subject.kind, subject.subject_id, nodes, files=files, object_bytes=object_bytes, **row)


def _silent(_: str, __: int) -> None:
    """Ignore progress."""
