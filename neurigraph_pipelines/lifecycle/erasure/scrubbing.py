"""Rewriting of tables, so that database files contain no erased data.

A deleted row is invisible at once, but its bytes stay on their page until the space is reused, longer in indexes, and
column samples stay in the planner's statistics. Rewriting does not change visible data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("scrubbing")


@dataclass(slots=True)
class ScrubReport:
    """The result of a scrub.

    Attributes:
        tables: Number of rewritten tables.
        busy: Tables that could not be locked; another run rewrites them.
    """

    tables: int = 0
    busy: list[str] = field(default_factory=list)


def scrub(
    database: Database, user_id: UUID | None = None, on_done: Callable[[int, int], None] | None = None
) -> ScrubReport:
    """Rewrite the shared tables and the tables of nodes one by one, each under a lock.

    Args:
        user_id: Only the nodes of this user, besides the shared tables.
        on_done: Called with the number of finished tables, and of all tables.
    """
    report = ScrubReport()
    with database.maintenance() as connection:
        connection.execute(_QUERIES["limit_waits"])
        found = connection.execute(_QUERIES["tables"], {"user_id": user_id}).fetchall()
        for number, table in enumerate(found, start=1):
            try:
                _rewrite(connection, table["schema_name"], table["table_name"])
                report.tables += 1
            except errors.UndefinedTable:  # its node was removed meanwhile
                pass
            except errors.LockNotAvailable:
                report.busy.append(f"{table['schema_name']}.{table['table_name']}")
            if on_done is not None:
                on_done(number, len(found))
    return report


def _rewrite(connection: Transaction, schema_name: str, table_name: str) -> None:
    connection.execute(_QUERIES["rewrite"].format(table=sql.Identifier(schema_name, table_name)))
    values = {"schema_name": schema_name, "table_name": table_name}
    row = connection.execute(_QUERIES["has_stale_samples"], values).fetchone()
    if row is not None and row["stale"]:
        connection.execute(_QUERIES["clear_samples"], values)
