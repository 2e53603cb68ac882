"""Which records there are, page by page, and where each lies while it is written to.

It may have been moved since somebody read of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

_PAGE = 500
_EMBEDDINGS = statements("embeddings")
_QUERIES = statements("search")


@dataclass(frozen=True, slots=True)
class RecordLocation:
    """A record, and the node that it lies in."""

    record_id: UUID
    node_id: UUID
    user_id: UUID
    schema_name: str

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> RecordLocation:
        """From a query that gives these four among its columns."""
        return cls(row["record_id"], row["node_id"], row["user_id"], row["schema_name"])

    @property
    def schema(self) -> sql.Identifier:
        """The node's schema, to be composed into a statement."""
        return sql.Identifier(self.schema_name)


def locate(tx: Transaction, record_id: UUID) -> RecordLocation | None:
    """Where a record lies, with its node brought to the current DDL; None where there is no such record.

    Args:
        tx: Of the pipeline, in which the graph was held or taken: there the record stays until it ends.
    """
    row = tx.execute(_QUERIES["locate_record"], {"record_id": record_id}).fetchone()
    if row is None:
        return None
    upgrade_node(tx, row["node_id"], row["schema_name"])
    return RecordLocation.of_row(row)


def lock_record(tx: Transaction, user_id: UUID, record_id: UUID) -> RecordLocation | None:
    """The same, and keep it there until the transaction ends."""
    lock_graph_shared(tx, user_id)
    return locate(tx, record_id)


def pages_of_days(
    database: Database,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    record_ids: Sequence[UUID] | None = None,
) -> Iterator[list[dict[str, Any]]]:
    """Rows of the registry in order, so that what is stored meanwhile disturbs nothing.

    Args:
        since: Stored from this moment on; None for the beginning.
        until: First moment that is not within.
        user_id: Only this user's.
        record_ids: Only these.
    """
    after: dict[str, Any] = {"created_at": None, "record_id": None}
    while True:
        with database.pipeline() as tx:
            page = tx.execute(
                _EMBEDDINGS["records_of_days"],
                {
                    "since": since,
                    "until": until,
                    "user_id": user_id,
                    "record_ids": None if record_ids is None else list(record_ids),
                    "after_time": after["created_at"],
                    "after_id": after["record_id"],
                    "limit": _PAGE,
                },
            ).fetchall()
        if not page:
            return
        yield page
        after = page[-1]
