"""Standards of nodes: the rights of personas and jobs there, resolved field by field up the path.

The database resolves them (``sql/functions/actions.sql``) and enforces what they say about writing.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.actions import Setting, Standard

_QUERIES = statements("actions")
_NUMBERS = ("ttl_seconds",)


def standard_of(database: Database, claims: Claims, node_id: UUID) -> Standard:
    """Return the standard that holds at a node, by field, with where each field comes from.

    Raises:
        NotFoundError: The node does not exist, or the caller does not see it.
    """
    require_visible(database, claims, "node", node_id)
    rows = database.ask(claims, _QUERIES["standard"], {"node_id": node_id})
    return Standard(
        standard={
            row["field"]: Setting(value=_value(row["field"], row["value"]), from_node_id=row["from_node_id"])
            for row in rows
        }
    )


def _value(field: str, value: str | None) -> str | int | None:
    return int(value) if value is not None and field in _NUMBERS else value
