"""The graph: the tree, the shell of a node, the records in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.api import responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.lifecycle import control

router = APIRouter(tags=["graph"], responses=documented(401, 404, 422, 503))

MAX_PAGE = 200
"""Most records in one page."""

LARGEST_OFFSET = 2**31 - 1


@router.get("/tree", response_model=responses.TreeNode)
def tree(caller: Caller, installation: Here) -> dict[str, Any]:
    """The whole graph from the root down."""
    with installation.database.agent(caller) as tx:
        return asdict(navigation.tree(tx, caller.user_id))


@router.get("/nodes/{node_id}", response_model=responses.Shell)
def shell(node_id: UUID, caller: Caller, installation: Here) -> dict[str, Any]:
    """What is always open of a node: identity, state, children and edges."""
    with installation.database.agent(caller) as tx:
        return navigation.shell(tx, node_id)


@router.get("/nodes/{node_id}/state", response_model=responses.NodeFiles)
def node_state(node_id: UUID, caller: Caller, installation: Here) -> dict[str, Any]:
    """Where the files of a node stand, and what they occupy."""
    state = control.node_state(installation.database, caller, node_id)
    totals = state.totals
    return {**asdict(state), **asdict(totals), "saved_bytes": totals.saved_bytes}


@router.get("/nodes/{node_id}/records", response_model=responses.Records)
def records(
    node_id: UUID,
    caller: Caller,
    installation: Here,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=LARGEST_OFFSET)] = 0,
) -> dict[str, Any]:
    """The metadata layer of one node, newest first."""
    with installation.database.agent(caller) as tx:
        found = navigation.records(tx, node_id, limit=limit + 1, offset=offset)
    return {"records": found[:limit], "next_offset": offset + limit if len(found) > limit else None}
