"""Records that were committed without vectors, because the embedder was down, and that get them as soon as may be.

Which are due stands in a table of its own, so that no node is searched for them; a record is given its vectors by
``reembed``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import TransientError
from neurigraph_pipelines.ingestion.embedding_models import Move, finish_moves
from neurigraph_pipelines.ingestion.record_locations import RecordLocation
from neurigraph_pipelines.ingestion.records import Progress
from neurigraph_pipelines.ingestion.triggers import retry_delay
from neurigraph_pipelines.statements import statements

MAX_HEALED = 2_000
"""Pending records that one run takes up, unless told otherwise."""

OVERDUE_SECONDS = 3_600.0
"""How long a record may wait for its vectors before somebody should know: several attempts have failed by then."""

_CLAIMED_AT_ONCE = 16
_QUERIES = statements("embeddings")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Records that wait for their vectors.

    Attributes:
        records: Those that the configured model may fill.
        overdue: Those of them that have waited for more than ``OVERDUE_SECONDS``.
        since: When the oldest of them was stored.
        of_other_models: Records on top of these whose users' searches use another model: only a backfill helps them.
    """

    records: int = 0
    overdue: int = 0
    since: datetime | None = None
    of_other_models: int = 0


@dataclass(frozen=True, slots=True)
class Overdue:
    """A record that has waited for its vectors too long; why the last attempt failed stands in its row."""

    record_id: UUID
    user_id: UUID
    since: datetime
    attempts: int


@dataclass(slots=True)
class Healed:
    """What a run over pending records did.

    Attributes:
        failed: Records that stay pending for now, and why; each is due again later.
        waiting: What is left, those included.
        moves: Moves to another model that were cut off after the switch, and are tidied up now.
    """

    records: int = 0
    passages: int = 0
    failed: list[tuple[UUID, str]] = field(default_factory=list)
    waiting: Waiting = field(default_factory=Waiting)
    moves: list[Move] = field(default_factory=list)


def has_due(context: Context) -> bool:
    """Whether ``heal_pending`` would find work; costs one look at an index."""
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["has_due"], {"model": context.embedder.model}).fetchone()
    assert row is not None
    return bool(row["due"])


def heal_pending(
    context: Context,
    limit: int = MAX_HEALED,
    user_id: UUID | None = None,
    on_done: Progress | None = None,
) -> Healed:
    """Give pending records their vectors, oldest first, until none is due or ``limit`` were taken up.

    A provider that is down ends the run early: the records taken up are due again after a while, as are those of a
    run that was killed.

    Args:
        context: Whose embedder gives the vectors.
        limit: Most records.
        user_id: Only this user's, or everybody's.
        on_done: Told of each record.
    """
    from neurigraph_pipelines.ingestion.reembed import fill  # with numpy behind it: not for a look at what is due

    done = Healed()
    taken = 0
    while taken < limit:
        claimed = _claim(context, user_id, min(_CLAIMED_AT_ONCE, limit - taken))
        taken += len(claimed)
        down = False
        for place, result in fill(context, [place for place, _ in claimed]):
            if isinstance(result, int):
                done.records += 1
                done.passages += result
            else:
                done.failed.append((place.record_id, str(result)))
                _postpone(context, place, dict(claimed)[place], result)
                down |= isinstance(result, TransientError)
            if on_done is not None:
                on_done(1)
        if down or not claimed:
            break
    done.moves = finish_moves(context.database, context.embedder.model, user_id, only_switched=True)
    done.waiting = waiting(context, user_id)
    return done


def waiting(context: Context, user_id: UUID | None = None) -> Waiting:
    """How many records wait for their vectors; of one user or of all."""
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["count_pending"],
            {"model": context.embedder.model, "user_id": user_id, "overdue_seconds": OVERDUE_SECONDS},
        ).fetchone()
    assert row is not None
    return Waiting(**row)


def overdue(context: Context, limit: int) -> list[Overdue]:
    """The records that have waited longest of those that the configured model should have filled by now."""
    with context.database.pipeline() as tx:
        rows = tx.execute(
            _QUERIES["overdue_pending"],
            {"model": context.embedder.model, "overdue_seconds": OVERDUE_SECONDS, "limit": limit},
        ).fetchall()
    return [Overdue(**row) for row in rows]


def _claim(context: Context, user_id: UUID | None, limit: int) -> list[tuple[RecordLocation, int]]:
    """Pending records that are due, with how often they were taken up, this time included."""
    with context.database.pipeline() as tx:
        rows = tx.execute(
            _QUERIES["claim_pending"],
            {
                "model": context.embedder.model,
                "user_id": user_id,
                "limit": limit,
                "lease_seconds": context.settings.ingestion.claim_lease_seconds,
            },
        ).fetchall()
    return [(RecordLocation.of_row(row), row["attempts"]) for row in rows]


def _postpone(context: Context, place: RecordLocation, attempts: int, error: Exception) -> None:
    asked = error.retry_after if isinstance(error, TransientError) else None
    with context.database.pipeline() as tx:
        tx.execute(
            _QUERIES["postpone_pending"],
            {
                "record_id": place.record_id,
                "delay_seconds": retry_delay(context.settings, attempts, asked),
                "error": str(error)[:4_000],
            },
        )
