"""The memories of facts that are stated by hand: of the versions of a fact, only that of the last one stays current.

A next version is another note, whose commit supersedes the memory of the note before. What people decide about versions
later changes which of them stands, and this module lets the memories follow.
"""

from __future__ import annotations

from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Transaction

_HISTORY = statements("history")
_QUERIES = statements("notes")


def settle_memories(tx: Transaction, fact_id: UUID) -> None:
    """Let each standing version's memory supersede the memory before it; restore the memory of the last version.

    A memory that something else has superseded stays as it is.

    Args:
        tx: A transaction of the pipeline that has locked the graph shared and said who the author is.
        fact_id: One of the versions.
    """
    versions = tx.execute(_QUERIES["memories_of_versions"], {"fact_id": fact_id}).fetchall()
    own = {row["record_id"] for row in versions}
    by: UUID | None = None
    for row in reversed(versions):
        schema, of_record = sql.Identifier(row["schema_name"]), {"record_id": row["record_id"]}
        now = tx.execute(_HISTORY["superseded_by"].format(schema=schema), of_record).fetchone()
        if now is not None and (now["superseded_by"] is None or now["superseded_by"] in own):
            tx.execute(_HISTORY["set_superseded"].format(schema=schema), {**of_record, "by": by})
        if row["stands"]:
            by = row["record_id"]
