"""The effect of grants: a preview before one is given, and new memories that look foreign to a granted node."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.navigation import path_view
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.access import GrantPreview

MOST_SHOWN = 20
"""Memories that a preview lists of each kind."""

_MOST_CHECKED = 1_000  # of a node, the farthest first
_LEAST_COMPARED = 4  # of fewer memories, none looks foreign
_RULE = {"bound": 0.25, "deviations": 3.0, "other_bound": 0.35, "margin": 0.15}
"""When a memory looks foreign, by cosines (``opened_by_grant``)."""

_QUERIES = statements("access")
_GRAPH = statements("graph")


class ForeignMemory(NamedTuple):
    """A memory that looks foreign to its node."""

    user: str
    node_id: UUID
    record_id: UUID


class _Granted(NamedTuple):
    node_id: UUID
    user_id: UUID
    slug: str
    schema_name: str
    new_records: list[UUID]


def preview_grant(database: Database, claims: Claims, node_id: UUID) -> GrantPreview:
    """Return the memories that a grant on a node would open to anybody.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: There is no such node.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        node = require_found(tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone(), "there is no such node")
        found = _opened(tx, node_id, node["user_id"], node["schema_name"], MOST_SHOWN)
    return GrantPreview.model_validate({"node_id": node_id, "node_path": path_view(node["names"]), **found})


def new_foreign_memories(database: Database) -> list[ForeignMemory]:
    """Return the memories of the last day that look foreign to their node and that a grant opens to somebody."""
    with database.pipeline() as tx:
        granted = rows_of(tx, _QUERIES["granted_with_news"], _Granted, {})
        return [
            ForeignMemory(node.slug, node.node_id, UUID(one["record_id"]))
            for node in granted
            for one in _opened(tx, node.node_id, node.user_id, node.schema_name, _MOST_CHECKED)["foreign_looking"]
            if UUID(one["record_id"]) in node.new_records
        ]


def _opened(tx: Transaction, node_id: UUID, user_id: UUID, schema_name: str, limit: int) -> DictRow:
    (row,) = tx.execute(
        _QUERIES["opened_by_grant"].format(schema=sql.Identifier(schema_name)),
        {
            "node_id": node_id,
            "user_id": user_id,
            "least": _LEAST_COMPARED,
            "limit": limit,
            "most": _MOST_CHECKED,
            **_RULE,
        },
    )
    return row
