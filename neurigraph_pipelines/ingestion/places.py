"""Where a record lies while it is written to: it may have been moved since somebody read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.graph.exclusion import hold_graph
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("search")


@dataclass(frozen=True, slots=True)
class Place:
    """A record, and the node that it lies in."""

    record_id: UUID
    node_id: UUID
    user_id: UUID
    schema_name: str

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> Place:
        """From a query that gives these four among its columns."""
        return cls(row["record_id"], row["node_id"], row["user_id"], row["schema_name"])

    @property
    def schema(self) -> sql.Identifier:
        """The node's schema, to be composed into a statement."""
        return sql.Identifier(self.schema_name)


def locate(tx: Transaction, record_id: UUID) -> Place | None:
    """Where a record lies, with its node brought to the current DDL; None where there is no such record.

    Args:
        tx: Of the pipeline, in which the graph was held or taken: there the record stays until it ends.
    """
    row = tx.execute(_QUERIES["locate_record"], {"record_id": record_id}).fetchone()
    if row is None:
        return None
    upgrade_node(tx, row["node_id"], row["schema_name"])
    return Place.of_row(row)


def hold(tx: Transaction, user_id: UUID, record_id: UUID) -> Place | None:
    """The same, and keep it there until the transaction ends."""
    hold_graph(tx, user_id)
    return locate(tx, record_id)
