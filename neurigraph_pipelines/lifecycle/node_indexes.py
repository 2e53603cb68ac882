"""Indexes of the tables of large nodes, built without blocking readers or writers.

A new node has primary keys only: most nodes stay small, and each index costs room and time in every commit.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from psycopg import errors, sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.vector_indexes import build_valid
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("node_indexes")
_DUE = "due"


class LargeNode(NamedTuple):
    """A node whose tables get their indexes."""

    node_id: UUID
    schema_name: str
    records: int


def build_node_indexes(context: Context, limit: int = 10) -> list[LargeNode]:
    """Make all indexes of up to ``limit`` nodes, biggest first.

    A node is large from ``settings.retrieval.node_index_records`` records on, or from ``vector_index_passages``
    passages. An interrupted build leaves an invalid index, which is dropped and built again.
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
    for name in _QUERIES:
        if name != _DUE:
            build_valid(connection, schema_name, name, _QUERIES[name].format(schema=sql.Identifier(schema_name)))


def has_large(context: Context) -> bool:
    """Return whether a large node lacks an index."""
    with context.database.pipeline() as tx:
        return bool(_due(tx, context, 1))


def _due(tx: Transaction, context: Context, limit: int) -> list[LargeNode]:
    settings = context.settings.retrieval
    values = {"records": settings.node_index_records, "passages": settings.vector_index_passages, "limit": limit}
    return rows_of(tx, _QUERIES[_DUE], LargeNode, values)
