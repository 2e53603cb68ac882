"""Indexes of the tables of large nodes, built without blocking readers or writers.

A new node has primary keys only: most nodes stay small, and each index costs room and time in every commit.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("node_indexes")
INDEXES = {name: one for name, one in _QUERIES.items() if name.startswith(("metadata_records", "file_manifest"))}
"""The statement of each index by its name; the query ``due`` looks for the last one."""


class LargeNode(NamedTuple):
    """A node whose tables get their indexes."""

    node_id: UUID
    schema_name: str
    records: int


def build_node_indexes(context: Context, limit: int = 10) -> list[LargeNode]:
    """Make all indexes of up to ``limit`` nodes, biggest first.

    A node is large from ``settings.retrieval.node_index_records`` records on. An interrupted build leaves an invalid
    index, which is dropped and built again.
    """
    built: list[LargeNode] = []
    with context.database.maintenance() as connection:
        for node in _due(connection, context, limit):
            try:
                index_node(connection, node.schema_name)
            except (errors.UndefinedTable, errors.InvalidSchemaName):  # the node was removed meanwhile
                continue
            built.append(node)
    return built


def index_node(connection: Transaction, schema_name: str) -> None:
    """Make all indexes of one node, outside of a transaction."""
    for name, statement in INDEXES.items():
        _build_valid(connection, schema_name, name, statement.format(schema=sql.Identifier(schema_name)))


def count_large(context: Context) -> int:
    """Return the number of large nodes that lack an index."""
    with context.database.pipeline() as tx:
        return len(_due(tx, context, None))


def _due(tx: Transaction, context: Context, limit: int | None) -> list[LargeNode]:
    values = {"records": context.settings.retrieval.node_index_records, "limit": limit}
    return rows_of(tx, _QUERIES["due"], LargeNode, values)


def _build_valid(connection: Transaction, schema_name: str, name: str, statement: sql.Composed) -> None:
    """Make an index of a node by a statement that leaves an existing one; an invalid one is dropped before."""
    found = connection.execute(_QUERIES["is_valid"], {"schema_name": schema_name, "index_name": name}).fetchone()
    if found is not None and not found["is_valid"]:
        places = {"schema": sql.Identifier(schema_name), "name": sql.Identifier(name)}
        connection.execute(_QUERIES["drop_index"].format(**places))
    connection.execute(statement)
