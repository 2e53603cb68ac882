"""Segments on their way: claimed in batches, kept alive, given back.

The queue's rules stand in ``sql/queries/triggers.sql``. Finding segments is for ``detection``; who looks how often is
for Dagster's sensors and for the command line; what happens to a claimed segment is for the other modules of this
package.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg import OperationalError

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.model import (
    ItemFailure,
    Message,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

MAX_RETRY_DELAY_SECONDS = 6 * 3600.0
_MOST_DOUBLINGS = 64  # far beyond the longest delay, and within what a float holds
_QUERIES = statements("triggers")


@dataclass(frozen=True, slots=True)
class Batch:
    """Segments that one run stores."""

    batch_id: UUID
    segments: int
    tokens: int

    @property
    def run_key(self) -> str:
        """Names the run of this batch; the segments of a later attempt come under another batch."""
        return f"ingest-{self.batch_id}"


@dataclass(frozen=True, slots=True)
class Queue:
    """How much waits and runs; ``due`` are the pending ones whose time has come."""

    pending: int
    due: int
    claimed: int
    failed: int
    stored: int
    next_attempt_at: datetime | None


def lease_due(
    context: Context,
    claimed_by: str,
    user_id: UUID | None = None,
    trigger_type: TriggerType | None = None,
) -> Batch | None:
    """Claim due segments for one run; one whose process died is a batch of its own.

    Args:
        claimed_by: Who will run them; ``open_batches`` lists by it.
        user_id: Only this user's, or everybody's.
        trigger_type: Only segments stored for this reason, or for any.

    Returns:
        The batch, or None when nothing is due.
    """
    expire(context)
    batch_id = uuid4()
    with context.database.pipeline() as tx:
        tx.execute(
            _QUERIES["claim"],
            {
                "batch_id": batch_id,
                "claimed_by": claimed_by,
                "user_id": user_id,
                "trigger_type": trigger_type.value if trigger_type is not None else None,
                "lease_seconds": context.settings.ingestion.claim_lease_seconds,
                "max_segments": context.settings.ingestion.batch_max_segments,
                "max_tokens": context.settings.ingestion.batch_max_tokens,
            },
        )
        rows = tx.execute(_QUERIES["open_batches"], {"claimed_by": claimed_by}).fetchall()
    return next((Batch(**row) for row in rows if row["batch_id"] == batch_id), None)


def expire(context: Context) -> int:
    """Return segments whose claim ran out without a sign of life to the queue, or to a person after the last attempt.

    An attempt of theirs is used up only where it was the one segment of its batch: a segment that kills its process is
    found out alone, at the cost of nobody else (docs/adr/0009-runs-are-batches-claims-are-leases.md).

    Returns:
        How many there were.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["expire_claims"], {"max_attempts": context.settings.ingestion.max_attempts}
        ).fetchone()
    assert row is not None
    expired: int = row["expired"]
    return expired


def open_batches(database: Database, claimed_by: str) -> list[Batch]:
    """Batches claimed and not finished, oldest first."""
    with database.pipeline() as tx:
        return [Batch(**row) for row in tx.execute(_QUERIES["open_batches"], {"claimed_by": claimed_by})]


def lease_for_runs(context: Context, claimed_by: str, trigger_type: TriggerType | None = None) -> list[Batch]:
    """What a sensor asks runs for: batches already claimed, and new ones up to ``batches_in_flight``.

    A batch that was claimed but whose run was never asked for, because the sensor died between the two, is listed
    again; a run that exists already is recognised by its run key.
    """
    expire(context)  # first, or batches whose runs died would keep every place for ever
    batches = open_batches(context.database, claimed_by)
    while len(batches) < context.settings.ingestion.batches_in_flight:
        batch = lease_due(context, claimed_by, trigger_type=trigger_type)
        if batch is None:
            break
        batches.append(batch)
    return batches


def renew(database: Database, batch_id: UUID, lease_seconds: int) -> int:
    """Give a sign of life.

    Returns:
        How many segments the batch still holds.
    """
    with database.pipeline() as tx:
        return tx.execute(_QUERIES["renew"], {"batch_id": batch_id, "lease_seconds": lease_seconds}).rowcount


@contextmanager
def keep_lease(context: Context, batch_id: UUID) -> Iterator[None]:
    """Keep a batch claimed for as long as the block runs, however long a step takes."""
    done = threading.Event()

    def give_signs_of_life() -> None:
        while not done.wait(context.settings.ingestion.claim_lease_seconds / 3):
            with suppress(NeurigraphError, OperationalError):  # the next sign may get through
                renew(context.database, batch_id, context.settings.ingestion.claim_lease_seconds)

    renew(context.database, batch_id, context.settings.ingestion.claim_lease_seconds)
    beside = threading.Thread(target=give_signs_of_life, name="claim", daemon=True)
    beside.start()
    try:
        yield
    finally:
        done.set()
        beside.join()


def release(database: Database, batch_id: UUID) -> int:
    """Let go of what a batch still holds, as if it had not been claimed.

    Returns:
        How many segments are due again.
    """
    with database.pipeline() as tx:
        return tx.execute(_QUERIES["release"], {"batch_id": batch_id}).rowcount


def segments_of(database: Database, batch_id: UUID) -> list[SegmentRef]:
    """The segments that a batch still holds, oldest first."""
    with database.pipeline() as tx:
        return [ref_of(row) for row in tx.execute(_QUERIES["batch"], {"batch_id": batch_id})]


def ref_of(row: Mapping[str, Any]) -> SegmentRef:
    """A segment from a query that gives the columns of ``batch`` among its own."""
    return SegmentRef(
        trigger_id=row["trigger_id"],
        user_id=row["user_id"],
        user_slug=row["user_slug"],
        source_kind=SourceKind(row["source_kind"]),
        source_id=row["source_id"],
        source_external_id=row["source_external_id"],
        title=row["title"],
        trigger_type=TriggerType(row["trigger_type"]),
        first_message=row["first_message"],
        last_message=row["last_message"],
        token_count=row["token_count"],
        attempts=row["attempts"],
        persona_id=row["persona_id"],
    )


def load(database: Database, ref: SegmentRef, within: tuple[int, int] | None = None) -> Segment:
    """A segment with its messages, or only with those of the numbers ``within``, both included."""
    first_message, last_message = within or (ref.first_message, ref.last_message)
    with database.pipeline() as tx:
        rows = tx.execute(
            _QUERIES["messages"],
            {"source_id": ref.source_id, "first_message": first_message, "last_message": last_message},
        )
        messages = tuple(
            Message(
                seq=row["seq"],
                role=Role(row["role"]),
                content=row["content"] or "",
                token_count=row["token_count"],
                occurred_at=row["occurred_at"],
                author=row["author"],
                external_id=row["external_id"],
                tool_calls=tuple(row["tool_calls"] or ()),
            )
            for row in rows
        )
    return Segment(ref, messages)


def load_each(database: Database, refs: list[SegmentRef]) -> Iterator[Segment]:
    """Segments one after the other, so that only one transcript is in memory unless the caller keeps them."""
    return (load(database, ref) for ref in refs)


def give_back(context: Context, batch_id: UUID, failure: ItemFailure, attempts: int) -> str | None:
    """Return a failed item to the queue, or to ``pipeline_failures`` when no attempt is left or could help.

    Returns:
        The state it is in now, or None when the batch did not hold it any more.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["give_back"],
            {
                "trigger_id": failure.trigger_id,
                "batch_id": batch_id,
                "final": not failure.transient,
                "max_attempts": context.settings.ingestion.max_attempts,
                "delay_seconds": retry_delay(context.settings, attempts, failure.retry_after),
                "step": failure.step,
                "error": failure.error[:4_000],
            },
        ).fetchone()
    return row["state"] if row is not None else None


def retry_delay(settings: Settings, attempts: int, retry_after: float | None = None) -> float:
    """Seconds until the next attempt: doubled each time, with full jitter above a half, never under what was asked.

    Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 (the "equal jitter" variant).
    """
    doublings = min(max(attempts - 1, 0), _MOST_DOUBLINGS)
    ceiling = min(settings.ingestion.retry_base_seconds * 2.0**doublings, MAX_RETRY_DELAY_SECONDS)
    return max(ceiling / 2 + random.uniform(0, ceiling / 2), retry_after or 0.0)  # noqa: S311 - spreads load, guards nothing


def queue(database: Database, user_id: UUID | None = None) -> Queue:
    """How much waits, runs and needs a person; of one user or of all."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["queue"], {"user_id": user_id}).fetchone()
    assert row is not None
    return Queue(**row)


def count_undetected(database: Database) -> int:
    """How many sources ended with something unstored that no trigger covers yet."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["undetected"]).fetchone()
    assert row is not None
    sources: int = row["sources"]
    return sources
