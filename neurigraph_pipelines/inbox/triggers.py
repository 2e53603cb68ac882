"""The queue of segments to store: leasing batches, renewing and releasing leases, retries.

``sql/queries/triggers.sql`` implements the queue. ``detection`` finds segments, Dagster's sensors and the command line
decide how often to look, and the other modules of this package store leased segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import repeat
from uuid import UUID, uuid4

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.leases import renewed, retry_delay, work_lease
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.database.totals import count
from neurigraph_pipelines.inbox.queue_hold import end_try, is_open, note_try
from neurigraph_pipelines.model import (
    ItemFailure,
    Message,
    NoteOptions,
    ReceivedThrough,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    ToolEvent,
    TriggerType,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.text.hygiene import on_clock

_TOKENS_AT_ONCE = 50_000
"""Tokens of the segments that one statement reads; a larger segment is read alone."""

_QUERIES = statements("triggers")


@dataclass(frozen=True, slots=True)
class Batch:
    """Segments that one run stores.

    Attributes:
        large: Whether it is a single large segment.
        waited_seconds: The time since the first of its sources ended, or arrived if that was later.
    """

    batch_id: UUID
    segments: int
    tokens: int
    large: bool
    waited_seconds: int

    @property
    def run_key(self) -> str:
        """The key of this batch's run; a later attempt belongs to another batch."""
        return run_key(self.batch_id)


def run_key(batch_id: UUID) -> str:
    """Return the key of a batch's run."""
    return f"ingest-{batch_id}"


@dataclass(frozen=True, slots=True)
class Queue:
    """Counts of segments by state; ``due`` are the pending ones whose next attempt may start.

    ``age_seconds`` is the time for which the oldest due segment has waited; 0 if none waits.
    """

    pending: int
    due: int
    claimed: int
    failed: int
    stored: int
    next_attempt_at: datetime | None
    age_seconds: float


def lease_due(
    context: Context,
    claimed_by: str,
    user_id: UUID | None = None,
    trigger_type: TriggerType | None = None,
    *,
    with_large: bool = True,
    insist: bool = False,
    batch_id: UUID | None = None,
) -> Batch | None:
    """Lease due segments for one run. A large segment, or one whose process died, gets its own batch.

    While the queue is held, one segment at a time is leased, after a pause.

    Args:
        claimed_by: Name of the lease holder, by which ``open_batches`` lists.
        user_id: Only this user's segments; None for all users.
        trigger_type: Only segments of this trigger type; None for all.
        with_large: Whether it may be a large segment.
        insist: Do not wait for the pause of a held queue.
        batch_id: The id of the batch; None for a new one.

    Returns:
        The batch, or None if nothing is due.
    """
    expire(context)
    batch_id = batch_id or uuid4()
    with context.database.pipeline() as tx:
        may_lease, only_one = is_open(tx, insist=insist)
        if not may_lease:
            return None
        leased = tx.execute(
            _QUERIES["lease_due"],
            {
                "batch_id": batch_id,
                "claimed_by": claimed_by,
                "user_id": user_id,
                "trigger_type": trigger_type.value if trigger_type is not None else None,
                "lease_seconds": context.settings.ingestion.claim_lease_seconds,
                "max_segments": 1 if only_one else context.settings.ingestion.batch_max_segments,
                "max_tokens": context.settings.ingestion.batch_max_tokens,
                "large_tokens": context.settings.ingestion.large_segment_tokens,
                "with_large": with_large,
            },
        )
        if only_one and leased.rowcount:
            note_try(tx, context.settings.ingestion.claim_lease_seconds)
    return next((batch for batch in open_batches(context, claimed_by) if batch.batch_id == batch_id), None)


@contextmanager
def leased_while_alive(
    context: Context, worker: str, user_id: UUID | None = None, *, insist: bool = False
) -> Iterator[Batch | None]:
    """Lease due segments for this process, as ``lease_due`` does: if it dies, the next lease finds them due again.

    A lock of a database session says that the process lives, so the block may also pause for long.

    Args:
        worker: A name for the process.
    """
    batch_id = uuid4()
    with context.database.maintenance() as session:
        session.execute(_QUERIES["hold_batch"], {"batch_id": batch_id})
        yield lease_due(context, f"process:{worker}", user_id, insist=insist, batch_id=batch_id)


def expire(context: Context) -> int:
    """End leases that expired or whose process is gone: segments return to the queue, or fail after the last attempt.

    This uses up an attempt only for the single segment of a batch. So a segment that kills its process is found alone,
    and other segments lose no attempt (docs/adr/0021-batches-and-leases.md).

    Returns:
        The number of these segments.
    """
    with context.database.pipeline() as tx:
        return value_of(
            int, tx.execute(_QUERIES["expire_leases"], {"max_attempts": context.settings.ingestion.max_attempts})
        )


def open_batches(context: Context, claimed_by: str) -> list[Batch]:
    """Return the leased, unfinished batches of a lease holder, oldest first."""
    values = {"claimed_by": claimed_by, "large_tokens": context.settings.ingestion.large_segment_tokens}
    with context.database.pipeline() as tx:
        return [Batch(**row) for row in tx.execute(_QUERIES["open_batches"], values)]


def silent_batches(database: Database) -> list[UUID]:
    """Return the batches of sensors whose lease has expired: the process that worked on one does not renew it."""
    with database.pipeline() as tx:
        return [row["batch_id"] for row in tx.execute(_QUERIES["silent_batches"])]


def lease_for_runs(context: Context, claimed_by: str, trigger_type: TriggerType | None = None) -> list[Batch]:
    """Return the batches to request runs for: those already leased, and new ones up to ``batches_in_flight``.

    At most half of them, and at least one, are large segments, so that those never hold the small ones.

    If a sensor dies after it leased a batch and before it requested the run, the batch is listed again. Dagster skips
    runs that already exist by their run key.
    """
    expire(context)  # first, or batches of dead runs would block new ones for ever
    batches = open_batches(context, claimed_by)
    most = context.settings.ingestion.batches_in_flight
    while len(batches) < most:
        with_large = sum(batch.large for batch in batches) < max(1, most // 2)
        batch = lease_due(context, claimed_by, trigger_type=trigger_type, with_large=with_large)
        if batch is None:
            break
        batches.append(batch)
    return batches


def renew(database: Database, batch_id: UUID, lease_seconds: int) -> None:
    """Renew the lease of a batch, without waiting for a segment that is in its commit."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["renew_leases"], {"batch_id": batch_id, "lease_seconds": lease_seconds})


@contextmanager
def keep_lease(context: Context, batch_id: UUID) -> Iterator[None]:
    """Renew the lease of a batch in a thread while the block runs, however long a step takes.

    The lease is short from then on: if the process dies, ``silent_batches`` finds it soon.
    """
    lease_seconds = work_lease(context.settings)
    renew(context.database, batch_id, lease_seconds)
    with renewed(lease_seconds, lambda: renew(context.database, batch_id, lease_seconds)):
        yield


def release(database: Database, batch_id: UUID) -> int:
    """End the lease of a batch at once, as if its segments had never been leased.

    Returns:
        The number of segments that are due again.
    """
    with database.pipeline() as tx:
        returned = tx.execute(_QUERIES["return_unfinished"], {"batch_id": batch_id}).rowcount
        end_try(tx)
    return returned


def return_canceled(database: Database, batch_id: UUID) -> None:
    """End the lease of the batch of a terminated run, without waiting for a segment that is in its commit."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["return_canceled"], {"batch_id": batch_id})
        end_try(tx)


def end_leases(database: Database, batch_id: UUID) -> None:
    """Let the leases of a batch expire now, because its run has failed without returning its segments."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["renew_leases"], {"batch_id": batch_id, "lease_seconds": 0})
        end_try(tx)


def segments_of(database: Database, batch_id: UUID) -> list[SegmentRef]:
    """Return the segments that a batch still leases, oldest first."""
    with database.pipeline() as tx:
        return _segments(tx, {"batch_id": batch_id})


def segment_of_record(tx: Transaction, schema: sql.Identifier, record_id: UUID) -> SegmentRef | None:
    """Return the segment of a stored record; None if its trigger is gone."""
    row = tx.execute(_QUERIES["trigger_of_record"].format(schema=schema), {"record_id": record_id}).fetchone()
    return next(iter(_segments(tx, row)), None) if row is not None else None


_PLAIN = (
    *("trigger_id", "user_id", "user_slug", "source_id", "source_external_id", "title", "first_message"),
    *("last_message", "token_count", "attempts", "persona_id", "about", "owner_name"),
)


def _segments(tx: Transaction, place: Mapping[str, object]) -> list[SegmentRef]:
    return [_ref_of(row) for row in tx.execute(_QUERIES["segments"], {"batch_id": None, "trigger_id": None, **place})]


def _ref_of(row: DictRow) -> SegmentRef:
    """Build a segment reference from a row of the query ``segments``."""
    note = None
    if row["pinned"] is not None:
        note = NoteOptions(row["pinned"], row["pinned_node_id"], row["importance"], tuple(row["tags"]))
    return SegmentRef(
        source_kind=SourceKind(row["source_kind"]),
        trigger_type=TriggerType(row["trigger_type"]),
        note=note,
        **{name: row[name] for name in _PLAIN},
    )


def load(database: Database, ref: SegmentRef, within: tuple[int, int] | None = None) -> Segment:
    """Load a segment with its messages, or only those numbered ``within`` (inclusive)."""
    (rows,) = _read(database, [ref], within)
    return _segment(ref, rows)


def load_each(database: Database, refs: Iterable[SegmentRef]) -> Iterator[Callable[[], Segment]]:
    """Yield for each segment a function that returns it with its messages, or raises the error of reading it.

    One statement reads many segments. One that was forgotten meanwhile has no messages.
    """
    for group in _groups(refs):
        try:
            found = _read(database, group)
        except Exception as error:  # each segment of the group fails by itself
            yield from repeat(partial(_refuse, error), len(group))
        else:
            yield from (partial(_segment, ref, rows) for ref, rows in zip(group, found, strict=True))


def _refuse(error: Exception) -> Segment:
    raise error


def _groups(refs: Iterable[SegmentRef]) -> Iterator[list[SegmentRef]]:
    """Group segments up to a bounded number of tokens."""
    group: list[SegmentRef] = []
    tokens = 0
    for ref in refs:
        if group and tokens + ref.token_count > _TOKENS_AT_ONCE:
            yield group
            group, tokens = [], 0
        group.append(ref)
        tokens += ref.token_count
    if group:
        yield group


def _read(database: Database, refs: Sequence[SegmentRef], within: tuple[int, int] | None = None) -> list[list[DictRow]]:
    """Return the rows of the messages of each segment."""
    ranges = [within or (ref.first_message, ref.last_message) for ref in refs]
    values = {
        "source_ids": [ref.source_id for ref in refs],
        "first_messages": [first for first, _ in ranges],
        "last_messages": [last for _, last in ranges],
    }
    found: list[list[DictRow]] = [[] for _ in refs]
    with database.pipeline() as tx:
        for row in tx.execute(_QUERIES["messages"], values):
            found[row["place"] - 1].append(row)
    return found


_PLAIN_OF_MESSAGE = ("seq", "token_count", "author", "external_id", "key_id", "received_at", "section")


def _segment(ref: SegmentRef, rows: Iterable[DictRow]) -> Segment:
    messages = (
        Message(
            role=Role(row["role"]),
            content=row["content"] or "",
            occurred_at=on_clock(row["occurred_at"], row["utc_offset"]),
            tool_calls=tuple(row["tool_calls"] or ()),
            persona_id=row["persona_id"] if row["received_through"] else ref.persona_id,
            received_through=ReceivedThrough(row["received_through"]) if row["received_through"] else None,
            event=ToolEvent.of_fields(row["tool_event"], row["content"] or "") if row["tool_event"] else None,
            **{name: row[name] for name in _PLAIN_OF_MESSAGE},
        )
        for row in rows
    )
    return Segment(ref, tuple(messages))


def give_back(
    context: Context, batch_id: UUID, failure: ItemFailure, attempts: int, *, counts: bool = True
) -> str | None:
    """Return a failed item to the queue, or record it in ``pipeline_failures`` if no attempt is left or could help.

    Args:
        counts: Whether the attempt counts; one that does not is never the last.

    Returns:
        The new state, or None if the batch no longer leases the segment.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["return_segment"],
            {
                "trigger_id": failure.trigger_id,
                "batch_id": batch_id,
                "counts": counts,
                "final": counts and not failure.transient,
                "max_attempts": context.settings.ingestion.max_attempts,
                "delay_seconds": retry_delay(context.settings, attempts, failure.retry_after) if counts else 0.0,
                "step": failure.step,
                "error": failure.error[:4_000],
            },
        ).fetchone()
        if row is not None:
            count(tx, {("failed_segments" if row["state"] == "failed" else "retried_segments", failure.step): 1})
    return row["state"] if row is not None else None


def queue(database: Database, user_id: UUID | None = None) -> Queue:
    """Count the segments of one user, or of all users, by state."""
    with database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["queue"], {"user_id": user_id})
    return Queue(**row)


def count_undetected(database: Database) -> int:
    """Count the sources that ended with unstored messages that no trigger covers yet."""
    with database.pipeline() as tx:
        return value_of(int, tx.execute(_QUERIES["count_undetected"]))
