"""Final failures: listing and replaying segments that cannot be stored and uploads that cannot be read.

``triggers`` and ``uploads`` record the failures. A replay puts the item back into its queue with all its attempts; the
pipeline then treats it like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from psycopg.sql import SQL

from neurigraph_pipelines.database.paging import NEWEST, Cursors, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims, SourceKind, TriggerType
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

MAX_FAILURES = 200
"""Maximum number of failures in one page."""

_QUERIES = statements("failures")


class ReplayOutcome(StrEnum):
    """The result of replaying one failure."""

    REPLAYED = "replayed"
    ALREADY_REPLAYED = "already_replayed"
    STORED_MEANWHILE = "stored_meanwhile"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed segment or upload that needs a person.

    Attributes:
        file_name: The file name of an upload, else None.
        trigger_id: The segment; None, like its type, range and tokens, for an upload that was never read.
        state: The current state of the segment or upload: ``failed``, or its state after a replay.
        attempts: Number of attempts before it failed.
        replayed_at: When it was replayed; None while it is open.
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
    """The outcome of replaying one failure."""

    failure_id: UUID
    outcome: ReplayOutcome


def list_failures(
    tx: Transaction,
    user_id: UUID | None = None,
    *,
    with_replayed: bool = False,
    limit: int = MAX_FAILURES,
    after: Position | None = None,
) -> list[Failure]:
    """Return the failures that the transaction's role may see, newest first.

    Args:
        tx: A transaction of the pipeline, or of a face with claims.
        user_id: Only this user's failures.
        with_replayed: Include replayed failures.
        limit: Maximum number of failures.
        after: Only failures after this position: a time and an id.
    """
    at, last = after or NEWEST
    rows = tx.execute(
        _QUERIES["list_failures"],
        {"user_id": user_id, "with_replayed": with_replayed, "limit": limit, "at": at, "id": last},
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


def page_of_failures(
    database: Database, cursors: Cursors, claims: Claims, *, with_replayed: bool, limit: int, cursor: str | None
) -> Page[Failure]:
    """Return a page of the caller's failures, newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[Failure]:
        with database.agent(claims) as tx:
            return list_failures(tx, claims.user_id, with_replayed=with_replayed, limit=most, after=after)

    filters = {"replayed": with_replayed}
    return cursors.page(claims, "failures", filters, limit, cursor, read, lambda one: (one.occurred_at, one.failure_id))


def replay(database: Database, failure_ids: Sequence[UUID] | None, user_id: UUID | None = None) -> list[Replay]:
    """Put segments and uploads back into their queues. Repeated calls replay a failure only once.

    Args:
        database: Used as the pipeline, for all users.
        failure_ids: The failures to replay; None for all open ones.
        user_id: Only this user's failures.

    Returns:
        One outcome for each failure found, by id.

    Raises:
        NotFoundError: A listed failure does not exist; none was replayed.
    """
    with database.pipeline() as tx:
        requested = None if failure_ids is None else list(failure_ids)
        found = _replays(tx, _QUERIES["replay"], {"failure_ids": requested, "user_id": user_id})
        missing = set(requested or ()) - {each.failure_id for each in found}
        if missing:
            raise NotFoundError(f"there is no failure {min(map(str, missing))}: nothing was replayed")
    return found


def replay_own(database: Database, claims: Claims, failure_id: UUID) -> Replay:
    """Put a segment or an upload of the caller back into its queue.

    Raises:
        NotFoundError: No such failure, or not visible to the caller.
    """
    with database.agent(claims) as tx:
        found = _replays(tx, _QUERIES["replay_own"], {"failure_ids": [failure_id]})
    if not found:
        raise NotFoundError
    return found[0]


def count_open(database: Database) -> int:
    """Count the open failures, which need a person."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["count_open"]).fetchone()
    assert row is not None
    failures: int = row["failures"]
    return failures


def _replays(tx: Transaction, query: SQL, parameters: dict[str, object]) -> list[Replay]:
    return [Replay(row["failure_id"], ReplayOutcome(row["outcome"])) for row in tx.execute(query, parameters)]
