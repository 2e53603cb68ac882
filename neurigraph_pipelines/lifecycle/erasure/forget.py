"""Erasures: preview, run, and finish after a crash.

Only the owner of a graph erases. An erasure takes one transaction for a record, and several for a node or a user, each
with a bounded number of table locks. The first of them opens the erasure, so that a refused request leaves nothing.
Between them the remaining data is consistent, and the erasure is recorded as unfinished, so that repeating the request,
or ``finish_erasures``, continues it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from psycopg import OperationalError, sql

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import give_way, lock_graph_exclusive, wait_briefly
from neurigraph_pipelines.lifecycle.erasure import departures
from neurigraph_pipelines.lifecycle.erasure.journal import (
    destroy_keys,
    entries_of_file,
    files_of,
    objects_of_records,
    objects_of_user,
    remove_objects,
)
from neurigraph_pipelines.lifecycle.erasure.origins import with_origins
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureState, ErasureSubject, SubjectKind, erasure, receipt
from neurigraph_pipelines.lifecycle.erasure.rows import RowsEraser, nodes_below
from neurigraph_pipelines.lifecycle.erasure.subjects import record_of, require_subject, require_unmirrored, rows_of
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, totals_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NeurigraphError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview

NODES_AT_ONCE = 20
"""Nodes per transaction: dropping one takes about seventy locks, of 6,400 that a server has by default."""

Progress = Callable[[str, int], None]
"""Called with ``nodes`` or ``objects``, and how many more were erased."""

_QUERIES = statements("erasure")
_PREVIEW = statements("erasure_preview")
_log = logging.getLogger(__name__)


def preview(database: Database, claims: Claims, subject: ErasureSubject) -> ErasurePreview:
    """Return the counts of an erasure, without removing anything.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
    """
    with rows_of(database, claims) as tx:
        require_subject(tx, claims, subject)
        if subject.kind in (SubjectKind.RECORD, SubjectKind.FACT):
            record_id = record_of(tx, claims.user_id, subject)
            if record_id is None:
                return ErasurePreview(
                    subject_kind=subject.kind,
                    subject_id=subject.subject_id,
                    nodes=[],
                    record_count=0,
                    delta_count=0,
                    file_count=0,
                    object_bytes=0,
                    source_count=0,
                    shared_sources=0,
                )
            return _preview_record(tx, claims, subject, record_id)
        nodes = nodes_below(tx, claims.user_id, subject.subject_id if subject.kind is SubjectKind.NODE else None)
        totals = StorageTotals()
        for start in range(0, len(nodes), NODES_AT_ONCE):
            some = [(node.node_id, node.schema_name) for node in nodes[start : start + NODES_AT_ONCE]]
            totals = sum(totals_of(tx, some).values(), totals)
        return _preview(
            tx,
            claims,
            subject,
            node_ids=[node.node_id for node in nodes],
            nodes=["/".join(node.names) for node in reversed(nodes)],
            files=totals.files,
            object_bytes=totals.active_bytes + totals.dormant_bytes,
        )


def contents(database: Database, claims: Claims, subject: ErasureSubject) -> list[UUID]:
    """Return the ids of the nodes and records that an erasure would remove.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
    """
    with rows_of(database, claims) as tx:
        require_subject(tx, claims, subject)
        if subject.kind in (SubjectKind.RECORD, SubjectKind.FACT):
            return [subject.subject_id]
        top = subject.subject_id if subject.kind is SubjectKind.NODE else None
        node_ids = [node.node_id for node in nodes_below(tx, claims.user_id, top)]
        rows = tx.execute(_QUERIES["records_of_nodes"], {"node_ids": node_ids})
        return [*node_ids, *(row["record_id"] for row in rows)]


def forget(
    context: Context,
    subject: ErasureSubject,
    *,
    through: str,
    on_done: Progress | None = None,
    guard: Guard = FREE,
) -> Erasure:
    """Erase a subject with all derived data, permanently.

    If the subject was erased before, this returns the same receipt. An unfinished erasure is continued. Once the first
    step is committed, an error does not undo it: the receipt has no ``finished_at`` then, and ``finish_erasures`` does
    the rest.

    Args:
        through: The interface of the request, for the receipt.
        on_done: Called with the progress.
        guard: Admits the erasure as it is opened, with the graph locked; what is written after that is erased, too.

    Raises:
        NotFoundError: There is no such subject, or the caller does not own it.
        InvalidInputError: The subject is the root of a graph.
        ConflictError: The user is the last owner of an organization.
        RehydratingError: One of its files is being decompressed; nothing was erased.
        TransientError: Others kept reading or writing it, or the object store did not answer; nothing was erased.
        StorageError: The object store rejected a request; nothing was erased.
    """
    if through != "peer":
        require_unmirrored(context.database, subject)
    on_done = on_done or _silent
    erasure_id, nodes = _begin(context, subject, through, guard)
    if nodes:
        on_done("nodes", nodes)
    try:
        return _carry_out(context, erasure_id, on_done)
    except (NeurigraphError, OperationalError) as error:
        _log.warning("the erasure %s is unfinished (%s)", erasure_id, type(error).__name__)
        with context.database.owner() as tx:
            return receipt(tx, erasure_id)


def finish_erasures(context: Context) -> list[Erasure]:
    """Finish all erasures, and departures of members, that a crash or an error of the object store interrupted.

    Raises:
        NeurigraphError, OperationalError: The first error, as for ``forget``; the other erasures were continued.
    """
    with context.database.pipeline() as tx:
        unfinished = [row["erasure_id"] for row in tx.execute(_QUERIES["unfinished"])]
        left = departures.unsettled(tx)
    finished: list[Erasure] = []
    failures: list[NeurigraphError | OperationalError] = []
    for erasure_id in unfinished:
        try:
            finished.append(_carry_out(context, erasure_id, _silent))
        except (NeurigraphError, OperationalError) as error:
            failures.append(error)
    for organization_id, member_id in left:
        try:
            finished += settle_departure(context, organization_id, member_id, through="sweep") or []
        except (NeurigraphError, OperationalError) as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return finished


def settle_departure(context: Context, organization_id: UUID, member_id: UUID, *, through: str) -> list[Erasure] | None:
    """Forget the records that leave an organization with a member, as ``departures.settle`` does."""
    return departures.settle(
        context, organization_id, member_id, lambda graph, subject: forget(graph, subject, through=through)
    )


def _begin(context: Context, subject: ErasureSubject, through: str, guard: Guard) -> tuple[UUID, int]:
    """Open an erasure with its first step, or find the one of before.

    Returns:
        Its id, and the number of nodes that the first step erased.
    """
    database, claims = context.database, context.claims
    values = {"user_id": claims.user_id, "kind": subject.kind, "subject_id": subject.subject_id, "through": through}
    with rows_of(database, claims) as tx:
        try:
            require_subject(tx, claims, subject)
        except NotFoundError:
            # Read after the subject: another request erases the subject and opens its erasure in one transaction.
            earlier = tx.execute(_QUERIES["latest_erasure"], values).fetchone()
            if earlier is None:
                raise
            return earlier["erasure_id"], 0
    strays = _strays_of(context, claims.user_id, subject)

    def begin(tx: Transaction) -> tuple[UUID, int]:
        if subject.kind is SubjectKind.USER:
            # Writers of the inbox are done before this, and find the open erasure after it.
            tx.execute(_QUERIES["hold_inbox"], values)
        else:
            lock_graph_exclusive(tx, claims.user_id)
        wait_briefly(tx)
        guard.admit(tx)
        row = tx.execute(_QUERIES["open_erasure"], values).fetchone()
        if row is None:  # another request opened it just now; the next statement sees it
            row = tx.execute(_QUERIES["latest_erasure"], values).fetchone()
        assert row is not None
        return row["erasure_id"], _take_step(tx, erasure(tx, row["erasure_id"]), strays)

    return give_way(database.owner, begin)


def _take_step(tx: Transaction, work: ErasureState, strays: Mapping[UUID, Sequence[str]]) -> int:
    """Erase a record or a fact, or some nodes; of a user, end the memberships and all keys.

    Returns:
        The number of nodes that it erased.
    """
    if work.rows_erased:
        return 0
    if work.subject.kind is SubjectKind.USER:
        tx.execute(_QUERIES["note_ended_keys"], {"erasure_id": work.erasure_id})
        departures.close_memberships(tx, work.user_id)
        tx.execute(_QUERIES["revoke_keys"], {"user_id": work.user_id})
        return 0
    eraser = RowsEraser(tx, work, strays, gives_way=True)
    if work.subject.kind is SubjectKind.NODE:
        return eraser.nodes(work.subject.subject_id, NODES_AT_ONCE)
    record_id = record_of(tx, work.user_id, work.subject)
    if record_id is not None:
        eraser.record(record_id)
    else:
        eraser.fact(work.subject.subject_id)
    return 0


def _carry_out(context: Context, erasure_id: UUID, on_done: Progress) -> Erasure:
    """Erase the rows and then the objects. Each step finds the remaining work, so it can be repeated."""
    database, objects = context.database, context.objects
    with database.owner() as tx:
        work = erasure(tx, erasure_id)
        owner = tx.execute(_QUERIES["slug_of_user"], {"user_id": work.user_id}).fetchone()

    def removed(count: int) -> None:
        on_done("objects", count)

    if not work.rows_erased and owner is not None:
        if work.subject.kind is SubjectKind.USER:
            # First, and while nobody else can have the slug: copies in old disks and snapshots end with their key.
            destroy_keys(objects, owner["slug"])
            give_way(database.owner, lambda tx: RowsEraser(tx, work, gives_way=True).inbox())
        _erase_rows(context, work, on_done)
        if work.subject.kind is SubjectKind.USER:
            _settle_all(context, work.user_id)
            remove_objects(database, objects, erasure_id, removed)
            strays_of_user = list(objects_of_user(objects, owner["slug"]))
            destroy_keys(objects, owner["slug"])  # that a job made meanwhile
            give_way(database.owner, lambda tx: RowsEraser(tx, work, gives_way=True).user(strays_of_user))
    if not work.rows_erased:
        with database.owner() as tx:
            tx.execute(_QUERIES["set_rows_erased"], {"erasure_id": erasure_id})
    remove_objects(database, objects, erasure_id, removed)
    with database.owner() as tx:
        tx.execute(_QUERIES["set_finished"], {"erasure_id": erasure_id})
        return receipt(tx, erasure_id)


def _settle_all(context: Context, user_id: UUID) -> None:
    """Forget the private sources of a user in organizations, while the user's memberships still say so."""
    with context.database.owner() as tx:
        left = departures.unsettled(tx, user_id)
    for organization_id, member_id in left:
        settle_departure(context, organization_id, member_id, through="forgotten user")


def _erase_rows(context: Context, work: ErasureState, on_done: Progress) -> None:
    """Erase a record, a fact, or nodes in batches until none is left, since new ones may appear meanwhile."""
    if work.subject.kind is SubjectKind.USER:
        while erased := give_way(
            context.database.owner, lambda tx: RowsEraser(tx, work, gives_way=True).nodes(None, NODES_AT_ONCE)
        ):
            on_done("nodes", erased)
        return
    strays = _strays_of(context, work.user_id, work.subject)
    while erased := give_way(context.database.owner, lambda tx: _take_step(tx, work, strays)):
        on_done("nodes", erased)


def _strays_of(context: Context, user_id: UUID, subject: ErasureSubject) -> Mapping[UUID, Sequence[str]]:
    """Return the keys of all objects of the records to erase; of a user none, whose objects are removed at the end."""
    with context.database.owner() as tx:
        owner = tx.execute(_QUERIES["slug_of_user"], {"user_id": user_id}).fetchone()
        if owner is None or subject.kind is SubjectKind.USER:
            return {}
        if subject.kind is SubjectKind.NODE:
            node_ids = [node.node_id for node in nodes_below(tx, user_id, subject.subject_id)]
            rows = tx.execute(_QUERIES["records_of_nodes"], {"node_ids": node_ids})
            record_ids = frozenset(row["record_id"] for row in rows)
        else:
            record_id = record_of(tx, user_id, subject)
            values = {"user_id": user_id, "record_id": record_id}
            is_there = tx.execute(_QUERIES["node_of_record"], values).fetchone() is not None
            record_ids = frozenset([record_id] if record_id is not None and is_there else [])
        record_ids = with_origins(tx, user_id, record_ids)
    return objects_of_records(context.objects, owner["slug"], record_ids) if record_ids else {}


def _preview_record(tx: Transaction, claims: Claims, subject: ErasureSubject, wanted: UUID) -> ErasurePreview:
    (place,) = tx.execute(_QUERIES["node_of_record"], {"user_id": claims.user_id, "record_id": wanted})
    files = files_of(tx, sql.Identifier(place["schema_name"]), wanted)
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
    subject: ErasureSubject,
    *,
    files: int,
    object_bytes: int,
    nodes: Sequence[str] = (),
    record_id: UUID | None = None,
    node_ids: list[UUID] | None = None,
) -> ErasurePreview:
    is_user = subject.kind is SubjectKind.USER
    values = {"user_id": claims.user_id, "record_id": record_id, "node_ids": node_ids, "is_user": is_user}
    (row,) = tx.execute(_PREVIEW["preview"], values)
    stated = {"subject_kind": subject.kind, "subject_id": subject.subject_id, "file_count": files}
    return ErasurePreview.model_validate({**stated, **row, "nodes": nodes, "object_bytes": object_bytes})


def _silent(_: str, __: int) -> None:
    """Ignore progress."""
