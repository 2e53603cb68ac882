"""Records that wait in a table for work, which one run leases at a time.

Each lease has the number of its attempt, so a run that is overtaken neither renews nor ends the wait of a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of, value_of
from neurigraph_pipelines.database.leases import renewed, retry_delay, work_lease
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("waiting_records")
_LONGEST_ERROR = 4_000


class Leased(NamedTuple):
    """A record that a run works on, with the number of its attempts, including this one."""

    record_id: UUID
    user_id: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Counts of waiting records.

    Attributes:
        overdue: Those that have waited longer than their work allows.
        since: Since when the first of them has waited.
        of_other_models: Of records without vectors, further ones whose users' searches use another model: only a
            backfill embeds them.
    """

    records: int = 0
    overdue: int = 0
    since: datetime | None = None
    of_other_models: int = 0


class WaitingRecords:
    """The records that wait in one table of the shared schema."""

    def __init__(self, table: str) -> None:
        self._table = sql.Identifier("neurigraph", table)

    def has_due(self, context: Context) -> bool:
        """Return whether a record is due; costs one index lookup."""
        with context.database.pipeline() as tx:
            return value_of(bool, tx.execute(_QUERIES["has_due"].format(table=self._table)))

    def lease(
        self, context: Context, limit: int, user_id: UUID | None = None, record_ids: Sequence[UUID] | None = None
    ) -> list[Leased]:
        """Lease due records, the longest waiting first.

        Args:
            context: With the length of a lease.
            limit: Maximum number of records.
            user_id: Only this user's records; None for all users.
            record_ids: Only these records; None for all.
        """
        values = {
            "limit": limit,
            "user_id": user_id,
            "record_ids": None if record_ids is None else list(record_ids),
            "lease_seconds": work_lease(context.settings),
        }
        with context.database.pipeline() as tx:
            return rows_of(tx, _QUERIES["lease"].format(table=self._table), Leased, values)

    @contextmanager
    def kept(self, context: Context, held: Mapping[UUID, int]) -> Iterator[None]:
        """Renew leases while the block runs: those of the records that are still in ``held``, with their attempts."""
        with renewed(work_lease(context.settings), partial(self._renew, context, held)):
            yield

    def postpone(self, context: Context, record_id: UUID, attempts: int, error: Exception) -> None:
        """Let a record wait until its next attempt, longer after each failure."""
        retry_after = error.retry_after if isinstance(error, TransientError) else None
        values = {
            "record_id": record_id,
            "attempts": attempts,
            "delay_seconds": retry_delay(context.settings, attempts, retry_after),
            "error": str(error)[:_LONGEST_ERROR],
        }
        with context.database.pipeline() as tx:
            tx.execute(_QUERIES["postpone"].format(table=self._table), values)

    def end(self, tx: Transaction, leased: Leased) -> bool:
        """End the wait of a record; return False if another run has taken it over, or it was forgotten."""
        values = {"record_id": leased.record_id, "attempts": leased.attempts}
        return tx.execute(_QUERIES["end_wait"].format(table=self._table), values).fetchone() is not None

    def _renew(self, context: Context, held: Mapping[UUID, int]) -> None:
        leased = list(held.items())  # the other thread removes items
        values = {
            "record_ids": [record_id for record_id, _ in leased],
            "attempts": [attempts for _, attempts in leased],
            "lease_seconds": work_lease(context.settings),
        }
        with context.database.pipeline() as tx:
            tx.execute(_QUERIES["renew"].format(table=self._table), values)
