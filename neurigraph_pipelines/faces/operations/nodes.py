"""The graph: the tree, nodes and the states of their files."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.faces.operations.versions import read_node
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph import node_lists as listing
from neurigraph_pipelines.graph.node_lists import NodeFilter
from neurigraph_pipelines.graph.profiles import profile_of
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.model import NodeType
from neurigraph_pipelines.views import graph as views
from neurigraph_pipelines.views.files import NodeFiles

MAX_TREE_NODES = 5_000
"""Most nodes of one page of the tree."""

operation = OperationGroup("graph")


@operation("GET /tree", "node tree", in_spaces=True)
def tree(
    call: Call,
    limit: Annotated[int, Field(ge=1, le=MAX_TREE_NODES, description="Maximum number of nodes.")] = MAX_TREE_NODES,
    cursor: Cursor = None,
) -> views.TreePage:
    """Return the graph from the root down; for a persona or a third party, the nodes that they may read.

    A larger graph comes in pages, depth first. Each page is a tree: the nodes above its own nodes are in it again.
    """
    return navigation.page_of_tree(call.listing(limit, cursor))


@operation("GET /nodes", "node list", in_spaces=True, options={"parent_node_id": "--below"})
def list_nodes(call: Call, wanted: NodeFilter, limit: Limit = 50, cursor: Cursor = None) -> views.Nodes:
    """List nodes, parents before their children. Without filters the pages hold the whole graph."""
    return call.page(views.Nodes, listing.list_nodes, wanted, limit=limit, cursor=cursor)


@operation("POST /nodes", "node add", status=201, refusals=(409,))
def provision(call: Call, body: requests.NewNode) -> views.CreatedNode:
    """Create a node: a concept, or a persona that can have keys and grants of its own."""
    node_id = call.do(
        sharing.add_node,
        body.parent_node_id,
        body.name,
        node_type=body.node_type,
        kind=body.kind,
        summary=body.summary,
        writes=body.writes and body.node_type is NodeType.PERSONA,
        guard=call.once,
    )
    return views.CreatedNode(node_id=node_id)


@operation("GET /nodes/{node_id}", "node show", tool="browse_graph", has_version=True)
def shell(call: Call, node_id: UUID) -> views.Shell:
    """Return the shell of a node: identity, state, profile, children and edges."""
    return call.versioned(*read_node(call.installation, call.caller, node_id))


@operation("GET /nodes/{node_id}/profile", "node profile")
def profile(call: Call, node_id: UUID) -> views.NodeProfile:
    """Return the themes of a node's memories, and the difference between the newest and the earlier ones."""
    return call.do(profile_of, node_id)


@operation("GET /nodes/{node_id}/state", "node state")
def node_state(call: Call, node_id: UUID) -> NodeFiles:
    """Return the states of a node's files and the bytes that they occupy."""
    return call.do(control.node_state, node_id)
