"""Vector indexes of nodes that have outgrown exact search, built and dropped while everybody reads and writes.

Which nodes those are follows from the statistics of the corpus. That a node has an index is written down once both of
its vectors have one, and searches go by that; how they use it is in ``sql/shared``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any
from uuid import UUID

from psycopg import Connection, errors, sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.statements import statements

VECTORS = ("embedding", "window_embedding")
ROWS_OF_LIST = 1_000
"""Rows to one list of an IVFFlat index (as pgvector advises, up to a million rows)."""

_QUERIES = statements("vector_indexes")
_CREATE = {"hnsw": _QUERIES["create_hnsw"], "ivfflat": _QUERIES["create_ivfflat"]}


@dataclass(frozen=True, slots=True)
class IndexedNode:
    """A node whose vectors have an index now, or have none any more."""

    node_id: UUID
    schema_name: str
    passages: int


def build_vector_indexes(context: Context, limit: int = 10) -> list[IndexedNode]:
    """Index up to ``limit`` nodes of at least ``settings.vector_index_passages`` passages, biggest first.

    A build that was cut off leaves an index that Postgres does not use; it is dropped and built again. An index of
    another method than the one that is set goes once the new one is there.
    """
    built: list[IndexedNode] = []
    with context.database.maintenance() as connection:
        method = context.settings.vector_index_method
        due = connection.execute(
            _QUERIES["due"], {"passages": context.settings.vector_index_passages, "method": method, "limit": limit}
        ).fetchall()
        for row in due:
            try:
                for column in VECTORS:
                    _build(connection, row, column, method)
                _drop(connection, row, _CREATE.keys() - {method})
            except (errors.UndefinedTable, errors.InvalidSchemaName):  # the node was removed meanwhile
                continue
            connection.execute(_QUERIES["note_index"], {"node_id": row["node_id"], "method": method})
            built.append(IndexedNode(row["node_id"], row["schema_name"], row["passages"]))
    return built


def drop_vector_indexes(context: Context, limit: int = 10) -> list[IndexedNode]:
    """Drop the indexes of up to ``limit`` nodes with less than half of ``settings.vector_index_passages`` passages.

    Exact search is faster there and finds all; half, so that a node near the threshold is not indexed again and again.
    """
    dropped: list[IndexedNode] = []
    with context.database.maintenance() as connection:
        outlived = connection.execute(
            _QUERIES["outlived"], {"passages": context.settings.vector_index_passages, "limit": limit}
        ).fetchall()
        for row in outlived:
            _drop(connection, row, _CREATE.keys())
            connection.execute(_QUERIES["note_index"], {"node_id": row["node_id"], "method": None})
            dropped.append(IndexedNode(row["node_id"], row["schema_name"], row["passages"]))
    return dropped


def count_due(context: Context) -> int:
    """How many nodes wait for an index, or for theirs to be dropped."""
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["count_due"],
            {"passages": context.settings.vector_index_passages, "method": context.settings.vector_index_method},
        ).fetchone()
    assert row is not None
    return int(row["due"])


def _drop(connection: Connection[dict[str, Any]], row: dict[str, Any], methods: Iterable[str]) -> None:
    for method, column in product(methods, VECTORS):
        places = {"schema": sql.Identifier(row["schema_name"]), "name": sql.Identifier(f"passages_{column}_{method}")}
        connection.execute(_QUERIES["drop_index"].format(**places))


def _build(connection: Connection[dict[str, Any]], row: dict[str, Any], column: str, method: str) -> None:
    name = f"passages_{column}_{method}"
    places = {
        "schema": sql.Identifier(row["schema_name"]),
        "name": sql.Identifier(name),
        "vector": sql.Identifier(column),
        "lists": sql.Literal(max(1, row["passages"] // ROWS_OF_LIST)),
    }
    found = connection.execute(_QUERIES["is_valid"], {"schema_name": row["schema_name"], "index_name": name}).fetchone()
    if found is not None and not found["is_valid"]:
        connection.execute(_QUERIES["drop_index"].format(**places))
    connection.execute(_CREATE[method].format(**places))
