"""The personas of a graph: nodes with keys of their own. ``sharing`` makes them and issues their keys."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database

_QUERIES = statements("access")


@dataclass(frozen=True, slots=True)
class Persona:
    """A node with keys of its own, whose holders read it and the nodes below it."""

    node_id: UUID
    name: str
    path: str
    record_count: int


def list_personas(database: Database, claims: Claims) -> list[Persona]:
    """Return the personas of a graph, ordered by path.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["list_personas"], {"user_id": claims.user_id}).fetchall()
    return [Persona(row["node_id"], row["node_name"], shown_path(row["names"]), row["record_count"]) for row in rows]
