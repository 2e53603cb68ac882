"""Vector indexes of nodes too large for exact search, built and dropped without blocking readers or writers.

Corpus statistics say which nodes these are. A node is marked as indexed once both of its vector columns have an index,
and searches rely on that mark.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Transaction

VECTORS = ("embedding", "window_embedding")
ROWS_OF_LIST = 1_000
"""Rows per list of an IVFFlat index, as pgvector advises for up to a million rows."""

_QUERIES = statements("vector_indexes")
_CREATE = {"hnsw": _QUERIES["create_hnsw"], "ivfflat": _QUERIES["create_ivfflat"]}


class IndexedNode(NamedTuple):
    """A node whose vector indexes were built or dropped."""

    node_id: UUID
    schema_name: str
    passages: int


def build_vector_indexes(context: Context, limit: int = 10) -> list[IndexedNode]:
    """Index up to ``limit`` nodes of at least ``settings.retrieval.vector_index_passages`` passages, biggest first.

    An interrupted build leaves an invalid index, which is dropped and built again. An index of another method than the
    configured one is dropped once the new one exists.
    """
    built: list[IndexedNode] = []
    with context.database.maintenance() as connection:
        method = context.settings.retrieval.vector_index_method
        passages = context.settings.retrieval.vector_index_passages
        values = {"passages": passages, "method": method, "limit": limit}
        due = rows_of(connection, _QUERIES["due"], IndexedNode, values)
        for row in due:
            try:
                for column in VECTORS:
                    _build(connection, row, column, method)
                _drop(connection, row, _CREATE.keys() - {method})
            except (errors.UndefinedTable, errors.InvalidSchemaName):  # the node was removed meanwhile
                continue
            connection.execute(_QUERIES["note_index"], {"node_id": row.node_id, "method": method})
            built.append(row)
    return built


def drop_vector_indexes(context: Context, limit: int = 10) -> list[IndexedNode]:
    """Drop the indexes of up to ``limit`` nodes with less than half of ``vector_index_passages`` passages.

    Exact search is faster for such nodes and has full recall. The threshold is halved so that a node near it is not
    indexed and dropped repeatedly.
    """
    dropped: list[IndexedNode] = []
    with context.database.maintenance() as connection:
        values = {"passages": context.settings.retrieval.vector_index_passages, "limit": limit}
        oversized = rows_of(connection, _QUERIES["undersized"], IndexedNode, values)
        for row in oversized:
            _drop(connection, row, _CREATE.keys())
            connection.execute(_QUERIES["note_index"], {"node_id": row.node_id, "method": None})
            dropped.append(row)
    return dropped


def count_due(context: Context) -> int:
    """Return the number of nodes that wait for an index, or for theirs to be dropped."""
    with context.database.pipeline() as tx:
        row = tx.execute(
            _QUERIES["count_due"],
            {
                "passages": context.settings.retrieval.vector_index_passages,
                "method": context.settings.retrieval.vector_index_method,
            },
        ).fetchone()
    assert row is not None
    return int(row["due"])


def _drop(connection: Transaction, row: IndexedNode, methods: Iterable[str]) -> None:
    for method, column in product(methods, VECTORS):
        identifiers = {
            "schema": sql.Identifier(row.schema_name),
            "name": sql.Identifier(f"passages_{column}_{method}"),
        }
        connection.execute(_QUERIES["drop_index"].format(**identifiers))


def _build(connection: Transaction, row: IndexedNode, column: str, method: str) -> None:
    name = f"passages_{column}_{method}"
    identifiers = {
        "schema": sql.Identifier(row.schema_name),
        "name": sql.Identifier(name),
        "vector": sql.Identifier(column),
        "lists": sql.Literal(max(1, row.passages // ROWS_OF_LIST)),
    }
    build_valid(connection, row.schema_name, name, _CREATE[method].format(**identifiers))


def build_valid(connection: Transaction, schema_name: str, name: str, statement: sql.Composed) -> None:
    """Make an index of a node by a statement that leaves an existing one; an invalid one is dropped before."""
    found = connection.execute(_QUERIES["is_valid"], {"schema_name": schema_name, "index_name": name}).fetchone()
    if found is not None and not found["is_valid"]:
        places = {"schema": sql.Identifier(schema_name), "name": sql.Identifier(name)}
        connection.execute(_QUERIES["drop_index"].format(**places))
    connection.execute(statement)
