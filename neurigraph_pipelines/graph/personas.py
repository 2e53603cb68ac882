"""The personas of a graph: nodes with keys of their own. ``sharing`` makes them and issues their keys."""

from __future__ import annotations

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.access import Persona

_QUERIES = statements("access")


def list_personas(database: Database, claims: Claims) -> list[Persona]:
    """Return the personas of a graph, ordered by path.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    require_owner(claims)
    return ask_views(database, claims, _QUERIES["list_personas"], Persona, {"user_id": claims.user_id})
