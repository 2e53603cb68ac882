"""Standards of nodes: what personas and jobs may do there, resolved field by field up the path.

The database resolves them (``sql/routines/actions.sql``) and enforces what they say about writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database

_QUERIES = statements("actions")
_NUMBERS = ("ttl_seconds",)


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a standard.

    Attributes:
        value: None if no node sets it and it has no default.
        from_node_id: The node that sets it; None for a default, and where the caller does not see that node.
    """

    value: str | int | None
    from_node_id: UUID | None


def standard_of(database: Database, claims: Claims, node_id: UUID) -> dict[str, Setting]:
    """Return the standard that holds at a node, by field, with where each field comes from.

    Raises:
        NotFoundError: The node does not exist, or the caller does not see it.
    """
    require_visible(database, claims, "node", node_id)
    with database.agent(claims) as tx:
        return {
            row["field"]: Setting(_value(row), row["from_node_id"])
            for row in tx.execute(_QUERIES["standard"], {"node_id": node_id})
        }


def _value(row: Mapping[str, Any]) -> str | int | None:
    value: str | None = row["value"]
    return int(value) if value is not None and row["field"] in _NUMBERS else value
