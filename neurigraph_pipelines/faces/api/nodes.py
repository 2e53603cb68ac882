"""The graph: the tree, nodes, their file states and the records in them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.faces.api import requests
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Within
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import NOT_MODIFIED, IfNoneMatch, read_node, tagged
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph import node_lists as listing
from neurigraph_pipelines.graph.node_lists import NodeFilter
from neurigraph_pipelines.graph.profiles import profile_of
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.model import NodeType
from neurigraph_pipelines.views import graph as views
from neurigraph_pipelines.views.files import NodeFiles
from neurigraph_pipelines.views.records import Records

MAX_TREE_NODES = 5_000
"""Most nodes of one page of the tree."""

router = APIRouter(tags=["graph"], responses=documented(401, 404, 422, 503))


@router.get("/tree")
def tree(
    caller: Within,
    installation: InstallationDep,
    limit: Annotated[int, Query(ge=1, le=MAX_TREE_NODES, description="Maximum number of nodes.")] = MAX_TREE_NODES,
    cursor: Cursor = None,
) -> views.TreePage:
    """Return the graph from the root down; for a persona or a third party, the nodes that they may read.

    A larger graph comes in pages, depth first. Each page is a tree: the nodes above its own nodes are in it again.
    """
    return navigation.page_of_tree(installation.database, installation.cursors, caller, limit, cursor)


@router.get("/nodes")
def list_nodes(
    caller: Within,
    installation: InstallationDep,
    path: Annotated[
        str | None, Query(description="The node at this path, such as `Family/Dave`, with or without the root.")
    ] = None,
    name: Annotated[str | None, Query(description="Nodes with this name or alias.")] = None,
    parent_node_id: Annotated[UUID | None, Query(description="Nodes directly below this one.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Nodes:
    """List nodes, parents before their children. Without filters the pages hold the whole graph."""
    look(installation, caller, parent_node_id=parent_node_id)
    wanted = NodeFilter(path, name, parent_node_id)
    found = listing.list_nodes(installation.database, installation.cursors, caller, wanted, limit=limit, cursor=cursor)
    return views.Nodes(nodes=found.items, next_cursor=found.next_cursor)


@router.post("/nodes", status_code=201, responses=documented(403, 409, 413))
def provision(body: requests.NewNode, caller: Caller, installation: InstallationDep, once: Once) -> views.NewNode:
    """Create a node: a concept, or a persona that can have keys and grants of its own."""
    look(installation, caller, parent_node_id=body.parent_node_id)
    node_id = sharing.add_node(
        installation.database,
        caller,
        body.parent_node_id,
        body.name,
        node_type=body.node_type,
        kind=body.kind,
        summary=body.summary,
        writes=body.writes and body.node_type is NodeType.PERSONA,
        guard=once,
    )
    return views.NewNode(node_id=node_id)


@router.get("/nodes/{node_id}", responses=NOT_MODIFIED)
def shell(
    node_id: UUID,
    response: Response,
    caller: Caller,
    installation: InstallationDep,
    if_none_match: IfNoneMatch = None,
) -> views.Shell:
    """Return the shell of a node: identity, state, profile, children and edges."""
    return tagged(response, *read_node(installation, caller, node_id), if_none_match)


@router.get("/nodes/{node_id}/profile")
def profile(node_id: UUID, caller: Caller, installation: InstallationDep) -> views.NodeProfile:
    """Return the themes of a node's memories, and the difference between the newest and the earlier ones."""
    return profile_of(installation.database, caller, node_id)


@router.get("/nodes/{node_id}/state")
def node_state(node_id: UUID, caller: Caller, installation: InstallationDep) -> NodeFiles:
    """Return the states of a node's files and the bytes that they occupy."""
    return control.node_state(installation.database, caller, node_id)


@router.get("/nodes/{node_id}/records")
def records(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Records:
    """List the records of one node, newest first."""
    found = navigation.page_of_records(installation.database, installation.cursors, caller, node_id, limit, cursor)
    return Records(records=found.items, next_cursor=found.next_cursor)
