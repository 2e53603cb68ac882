"""Locations of records: which node has a record now, and pages of records by day.

A record can move between a read and a write, so writers locate it again under a lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import row_of, rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.model.ports import Database, Transaction

_PAGE = 500
_EMBEDDINGS = statements("embeddings")
_QUERIES = statements("search")


class RecordLocation(NamedTuple):
    """A record and the node that contains it, and when it was stored."""

    record_id: UUID
    node_id: UUID
    user_id: UUID
    schema_name: str
    created_at: datetime

    @property
    def schema(self) -> sql.Identifier:
        """The node's schema, to compose into a statement."""
        return sql.Identifier(self.schema_name)


def locate(tx: Transaction, record_id: UUID) -> RecordLocation | None:
    """Return the location of a record, or None.

    Args:
        tx: A transaction of the pipeline that has locked the graph, so the record cannot move until it ends.
    """
    return row_of(tx, _QUERIES["locate_record"], RecordLocation, {"record_id": record_id})


def nodes_of(tx: Transaction, record_ids: Sequence[UUID]) -> list[UUID]:
    """Return the nodes that contain some records; those that the transaction's role may not see are left out."""
    return [row["node_id"] for row in tx.execute(_QUERIES["nodes_of_records"], {"record_ids": list(record_ids)})]


def lock_record(tx: Transaction, user_id: UUID, record_id: UUID) -> RecordLocation | None:
    """Lock the graph shared, so that the record cannot move until the transaction ends, and locate the record."""
    lock_graph_shared(tx, user_id)
    return locate(tx, record_id)


def pages_of_days(
    database: Database,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    record_ids: Sequence[UUID] | None = None,
) -> Iterator[list[RecordLocation]]:
    """Yield pages of records in order of storage; records stored meanwhile do not disturb the order.

    Args:
        since: Earliest storage time, inclusive; None for the beginning.
        until: Latest storage time, exclusive.
        user_id: Only this user's records.
        record_ids: Only these records.
    """
    last: RecordLocation | None = None
    while True:
        with database.pipeline() as tx:
            page = rows_of(
                tx,
                _EMBEDDINGS["records_of_days"],
                RecordLocation,
                {
                    "since": since,
                    "until": until,
                    "user_id": user_id,
                    "record_ids": None if record_ids is None else list(record_ids),
                    "after_time": last and last.created_at,
                    "after_id": last and last.record_id,
                    "limit": _PAGE,
                },
            )
        if not page:
            return
        yield page
        last = page[-1]


def storage_times(database: Database, record_ids: Sequence[UUID]) -> list[datetime]:
    """Return when some records were stored; those that are forgotten meanwhile are left out."""
    with database.pipeline() as tx:
        rows = tx.execute(_EMBEDDINGS["storage_times"], {"record_ids": list(record_ids)})
        return [row["created_at"] for row in rows]
