"""The objects that rows name: of one user for streams, of all users for backups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.stored_bytes import has_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("portability")


def named_objects(tx: Transaction, user_id: UUID | None = None) -> Iterator[dict[str, Any]]:
    """Yield the durable objects of files, and then the staged uploads whose bytes no record has yet.

    Each row has ``storage_path`` (the key), ``stored_sha256`` and ``stored_bytes``. A file has ``file_id``,
    ``record_id`` and its state, too; an upload has ``source_id``.
    """
    for node in tx.execute(_QUERIES["nodes"], {"user_id": user_id}).fetchall():
        schema = sql.Identifier(node["schema_name"])
        yield from tx.execute(_QUERIES["objects_of_node"].format(schema=schema)).fetchall()
    yield from tx.execute(_QUERIES["staged_objects"], {"user_id": user_id}).fetchall()


def needs_working_copy(row: Mapping[str, Any]) -> bool:
    """Return whether a named object is that of an active file, which is read from a working copy."""
    return bool(row["file_id"]) and row["compression_state"] == CompressionState.ACTIVE and has_working_copy(row)
