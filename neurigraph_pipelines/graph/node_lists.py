"""Nodes, page by page, parents first: the whole graph, the children of one node, or nodes by path or name."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.database.paging import Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import find_node, language_view
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.graph import ListedNode

NODES_NAMED = 5
"""Most nodes that an error names."""

_QUERIES = statements("listing")
_FIRST: Position = (-1, str(UUID(int=0)))


class NodeFilter(BaseModel, frozen=True):
    """The conditions of a list of nodes: a node meets all that are set."""

    path: str | None = Field(
        default=None, description="The node at this path, such as `Family/Dave`, with or without the root."
    )
    name: str | None = Field(default=None, description="Nodes with this name or alias.")
    parent_node_id: UUID | None = Field(default=None, description="Nodes directly below this one.")


def node_called(asked: Listing, place: str) -> UUID:
    """Return the node at a path, or the only node with that name that the caller sees.

    An alias is not enough: a node that was merged away would stand for the node that took it in.

    Raises:
        NotFoundError: No such node, or not visible to the caller.
        InvalidInputError: Several nodes have the name.
    """
    try:
        with asked.database.agent(asked.claims) as tx:
            return find_node(tx, asked.claims.user_id, place)
    except NotFoundError:
        found = list_nodes(replace(asked, limit=NODES_NAMED), NodeFilter(name=place)).items
        named = [one for one in found if name_key(one.name) == name_key(place)]
        if not named:
            raise
    if len(named) > 1:
        raise InvalidInputError(f"several nodes are called {place!r}: {', '.join(one.path for one in named)}")
    return named[0].node_id


def list_nodes(asked: Listing, wanted: NodeFilter) -> Page[ListedNode]:
    """Return a page of the nodes that the caller sees, parents before their children.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    name = None if wanted.name is None else clean_text(wanted.name, "repair")[0]

    def read(after: Position | None, most: int) -> list[ListedNode]:
        depth, last = after or _FIRST
        values: dict[str, object] = {
            "user_id": asked.claims.user_id,
            "node_id": None,
            "parent_node_id": wanted.parent_node_id,
            "name": name,
            "name_key": None if name is None else name_key(name),
            "depth": depth,
            "id": last,
            "limit": most,
        }
        with asked.database.agent(asked.claims) as tx:
            if wanted.path is not None:
                try:
                    values["node_id"] = find_node(tx, asked.claims.user_id, clean_text(wanted.path, "repair")[0])
                except NotFoundError:
                    return []
            rows = tx.execute(_QUERIES["nodes"], values).fetchall()
        for row in rows:
            row["language"] = language_view(row["language"], row["record_count"])
        return [ListedNode.model_validate(row) for row in rows]

    return asked.page("nodes", wanted.model_dump(), read, lambda one: (one.depth, one.node_id))
