"""Healing: embed records that were committed without vectors because the embedder was down.

A table lists these pending records, so that no node has to be searched for them. ``reembed`` writes the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.database.asking import typed, value_of
from neurigraph_pipelines.database.leases import work_lease
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion.embedding_models import ModelMove, finish_moves
from neurigraph_pipelines.ingestion.record_locations import RecordLocation
from neurigraph_pipelines.ingestion.records import Progress
from neurigraph_pipelines.ingestion.waiting_records import Waiting, WaitingRecords
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError

MAX_HEALED = 2_000
"""Default limit of pending records per run."""

OVERDUE_SECONDS = 3_600.0
"""Waiting time from which a pending record is reported; several attempts have failed by then."""

_LEASED_AT_ONCE = 16
_WAITING = WaitingRecords("pending_embeddings")
_QUERIES = statements("embeddings")


@dataclass(frozen=True, slots=True)
class Overdue:
    """A record that has waited too long for its vectors. Its row has the error of the last attempt."""

    record_id: UUID
    user_id: UUID
    since: datetime
    attempts: int


@dataclass(slots=True)
class Healed:
    """The result of a run over pending records.

    Attributes:
        record_ids: The records that were embedded.
        failed: Records that stay pending, with the reason; each is due again later.
        waiting: The records still pending, including the failed ones.
        moves: Moves to another model that were interrupted after the switch and have been finished now.
    """

    records: int = 0
    passages: int = 0
    record_ids: list[UUID] = field(default_factory=list)
    failed: list[tuple[UUID, str]] = field(default_factory=list)
    waiting: Waiting = field(default_factory=Waiting)
    moves: list[ModelMove] = field(default_factory=list)


def has_due(context: Context) -> bool:
    """Return whether ``heal_pending`` would find work; costs one index lookup."""
    with context.database.pipeline() as tx:
        return value_of(bool, tx.execute(_QUERIES["has_due"], {"model": context.embedder.model}))


def heal_pending(
    context: Context,
    limit: int = MAX_HEALED,
    user_id: UUID | None = None,
    on_done: Progress | None = None,
) -> Healed:
    """Embed pending records, oldest first, until none is due or ``limit`` were leased.

    The run ends early if the provider is down. Its leased records are due again later, like those of a killed run.

    Args:
        context: With the embedder of the vectors.
        limit: Maximum number of records.
        user_id: Only this user's records; None for all users.
        on_done: Called after each record.
    """
    from neurigraph_pipelines.ingestion.reembed import embed_records  # imports numpy, which ``has_due`` does not need

    done = Healed()
    leased_count = 0
    while leased_count < limit:
        leased = _lease(context, user_id, min(_LEASED_AT_ONCE, limit - leased_count))
        leased_count += len(leased)
        down = False
        attempts = {location.record_id: attempt for location, attempt in leased}
        with _WAITING.kept(context, attempts):
            for location, result in embed_records(context, [location for location, _ in leased]):
                attempt = attempts.pop(location.record_id)
                if isinstance(result, int):
                    done.records += 1
                    done.record_ids.append(location.record_id)
                    done.passages += result
                else:
                    done.failed.append((location.record_id, str(result)))
                    _WAITING.postpone(context, location.record_id, attempt, result)
                    down |= isinstance(result, TransientError)
                if on_done is not None:
                    on_done(1)
        if down or not leased:
            break
    done.moves = finish_moves(context.database, context.embedder.model, user_id, only_switched=True)
    done.waiting = waiting(context, user_id)
    return done


def waiting(context: Context, user_id: UUID | None = None) -> Waiting:
    """Count the pending records of one user, or of all users."""
    with context.database.pipeline() as tx:
        (row,) = tx.execute(
            _QUERIES["count_pending"],
            {"model": context.embedder.model, "user_id": user_id, "overdue_seconds": OVERDUE_SECONDS},
        )
    return Waiting(**row)


def overdue(context: Context, limit: int) -> list[Overdue]:
    """Return the overdue records of the configured model, longest waiting first."""
    with context.database.pipeline() as tx:
        rows = tx.execute(
            _QUERIES["overdue_pending"],
            {"model": context.embedder.model, "overdue_seconds": OVERDUE_SECONDS, "limit": limit},
        ).fetchall()
    return [Overdue(**row) for row in rows]


def _lease(context: Context, user_id: UUID | None, limit: int) -> list[tuple[RecordLocation, int]]:
    """Lease due pending records; return each with its number of attempts, including this one."""
    with context.database.pipeline() as tx:
        rows = tx.execute(
            _QUERIES["lease_pending"],
            {
                "model": context.embedder.model,
                "user_id": user_id,
                "limit": limit,
                "lease_seconds": work_lease(context.settings),
            },
        ).fetchall()
    return [(location, row["attempts"]) for location, row in zip(typed(rows, RecordLocation), rows, strict=True)]
