"""Final failures: listing and replaying segments that cannot be stored and uploads that cannot be read.

``triggers`` and ``uploads`` record the failures. A replay puts the item back into its queue with all its attempts; the
pipeline then treats it like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.sql import SQL

from neurigraph_pipelines.database.asking import value_of, views_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.failures import FailureOfUser, Replay

MAX_FAILURES = 200
"""Maximum number of failures in one page."""

_QUERIES = statements("failures")


def list_failures(
    tx: Transaction,
    user_id: UUID | None = None,
    *,
    with_replayed: bool = False,
    limit: int = MAX_FAILURES,
    after: Position | None = None,
) -> list[FailureOfUser]:
    """Return the failures that the transaction's role may see, newest first.

    Args:
        tx: A transaction of the pipeline, or of a face with claims.
        user_id: Only this user's failures.
        with_replayed: Include replayed failures.
        limit: Maximum number of failures.
        after: Only failures after this position: a time and an id.
    """
    at, last = after or NEWEST
    values = {"user_id": user_id, "with_replayed": with_replayed, "limit": limit, "at": at, "id": last}
    return views_of(tx, _QUERIES["list_failures"], FailureOfUser, values)


def page_of_failures(asked: Listing, *, with_replayed: bool) -> Page[FailureOfUser]:
    """Return a page of the caller's failures, newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[FailureOfUser]:
        with asked.database.agent(asked.claims) as tx:
            return list_failures(tx, asked.claims.user_id, with_replayed=with_replayed, limit=most, after=after)

    filters = {"replayed": with_replayed}
    return asked.page("failures", filters, read, lambda one: (one.occurred_at, one.failure_id))


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
    return require_found(next(iter(found), None))


def count_open(database: Database) -> int:
    """Count the open failures, which need a person."""
    with database.pipeline() as tx:
        return value_of(int, tx.execute(_QUERIES["count_open"]))


def _replays(tx: Transaction, query: SQL, parameters: dict[str, object]) -> list[Replay]:
    return views_of(tx, query, Replay, parameters)
