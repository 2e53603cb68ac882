"""What failed for good, segments that cannot be stored and uploads that cannot be read: listed, and replayed.

How something comes here is in ``triggers`` and ``uploads``. Replaying puts it back into its queue with fresh attempts;
what follows is the ordinary way of the pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from psycopg.sql import SQL

from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.model import Claims, SourceKind, TriggerType
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

MAX_FAILURES = 200
"""Most failures in one page."""

_QUERIES = statements("failures")


class ReplayOutcome(StrEnum):
    """What replaying one failure came to."""

    REPLAYED = "replayed"
    ALREADY_REPLAYED = "already_replayed"
    STORED_MEANWHILE = "stored_meanwhile"


@dataclass(frozen=True, slots=True)
class Failure:
    """A segment, or an upload, that a person has to look at.

    Attributes:
        file_name: Of the upload, where the source is one.
        trigger_id: The segment; None, as are its type, range and tokens, where an upload was never read.
        state: Of the segment or upload now: ``failed``, or what became of it after a replay.
        attempts: How many there were when it was given up.
        replayed_at: None while it is open.
    """

    failure_id: UUID
    user_id: UUID
    user_slug: str
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    file_name: str | None
    trigger_id: UUID | None
    trigger_type: TriggerType | None
    first_message: int | None
    last_message: int | None
    token_count: int | None
    state: str
    step: str
    error: str
    attempts: int
    occurred_at: datetime
    replayed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Replay:
    """One failure that was to be replayed, and what came of it."""

    failure_id: UUID
    outcome: ReplayOutcome


def list_failures(
    tx: Transaction,
    user_id: UUID | None = None,
    *,
    with_replayed: bool = False,
    limit: int = MAX_FAILURES,
    offset: int = 0,
) -> list[Failure]:
    """Failures that the transaction's role may see, newest first.

    Args:
        tx: Of the pipeline, or of a face with claims.
        user_id: Only this user's.
        with_replayed: Those that were replayed too.
        limit: Most failures.
        offset: How many to pass over.
    """
    rows = tx.execute(
        _QUERIES["list_failures"],
        {"user_id": user_id, "with_replayed": with_replayed, "limit": limit, "offset": offset},
    )
    return [
        Failure(
            **{
                **row,
                "source_kind": SourceKind(row["source_kind"]),
                "trigger_type": TriggerType(row["trigger_type"]) if row["trigger_type"] is not None else None,
            }
        )
        for row in rows
    ]


def replay(database: Database, failure_ids: Sequence[UUID] | None, user_id: UUID | None = None) -> list[Replay]:
    """Put segments and uploads back into their queues; once for each failure, however often it is asked for.

    Args:
        database: Works as the pipeline, over all users.
        failure_ids: None for all that are open.
        user_id: Only this user's.

    Returns:
        One for each failure found, by id.

    Raises:
        NotFoundError: A named failure does not exist; none was replayed.
    """
    with database.pipeline() as tx:
        named = None if failure_ids is None else list(failure_ids)
        found = _replays(tx, _QUERIES["replay"], {"failure_ids": named, "user_id": user_id})
        missing = set(named or ()) - {each.failure_id for each in found}
        if missing:
            raise NotFoundError(f"there is no failure {min(map(str, missing))}: nothing was replayed")
    return found


def replay_own(database: Database, claims: Claims, failure_id: UUID) -> Replay:
    """Put a segment or an upload of whoever asks back into its queue.

    Raises:
        NotFoundError: No such failure, or not visible to whoever asks.
    """
    with database.agent(claims) as tx:
        found = _replays(tx, _QUERIES["replay_own"], {"failure_ids": [failure_id]})
    if not found:
        raise NotFoundError
    return found[0]


def count_open(database: Database) -> int:
    """How many failures wait for a person."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["count_open"]).fetchone()
    assert row is not None
    failures: int = row["failures"]
    return failures


def _replays(tx: Transaction, query: SQL, parameters: dict[str, object]) -> list[Replay]:
    return [Replay(row["failure_id"], ReplayOutcome(row["outcome"])) for row in tx.execute(query, parameters)]
