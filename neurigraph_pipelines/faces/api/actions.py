"""Actions that wait for a decision, the votes on them, and the standards of nodes."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from neurigraph_pipelines.faces.api import action_forms as forms
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.graph.governance.standards import standard_of
from neurigraph_pipelines.knowledge.deciding import actions, standards
from neurigraph_pipelines.views import actions as views
from neurigraph_pipelines.views.kinds import ActionKind, ActionState

router = APIRouter(tags=["actions"], responses=documented(401, 404, 422, 503))


@router.get("/actions")
def list_actions(
    caller: Caller,
    installation: InstallationDep,
    kind: Annotated[ActionKind | None, Query(description="Only actions of this kind.")] = None,
    state: Annotated[ActionState, Query(description="Only actions in this state.")] = ActionState.OPEN,
    all_of_them: Annotated[bool, Query(alias="all", description="In whatever state.")] = False,
    node_id: Annotated[UUID | None, Query(description="Only actions at this node.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Actions:
    """List the actions that wait for a decision, as far as the caller may see them, newest first."""
    found = actions.page_of_actions(
        installation.database,
        installation.cursors,
        caller,
        kind=kind,
        state=None if all_of_them else state,
        node_id=node_id,
        limit=limit,
        cursor=cursor,
    )
    return views.Actions(actions=found.items, next_cursor=found.next_cursor)


@router.post("/actions", status_code=201, responses=documented(403, 409, 413))
def request_action(body: forms.NewAction, caller: Caller, installation: InstallationDep) -> views.Action:
    """Ask, as a persona, for a record to be deleted, promoted, archived, or put into words with those around it."""
    look(installation, caller, record_id=body.record_id)
    return actions.request(installation.acting_for(caller), ActionKind(body.kind), body.record_id)


@router.get("/actions/{action_id}")
def action(action_id: UUID, caller: Caller, installation: InstallationDep) -> views.Action:
    """Return an action, with the text of the note that it holds."""
    return actions.get_action(installation.database, caller, action_id)


@router.post("/actions/{action_id}/votes", responses=documented(403, 409, 413))
def vote(action_id: UUID, body: forms.NewVote, caller: Caller, installation: InstallationDep) -> views.Action:
    """Approve or reject an action. An action is carried out as soon as the last vote approves it."""
    return actions.vote(installation.acting_for(caller), action_id, approves=body.approve)


@router.get("/nodes/{node_id}/standard")
def standard(node_id: UUID, caller: Caller, installation: InstallationDep) -> views.Standard:
    """Return the standard that holds at a node, and where each field comes from."""
    return standard_of(installation.database, caller, node_id)


@router.put("/nodes/{node_id}/standard", responses=documented(403, 409, 413))
def set_standard(
    node_id: UUID, body: forms.NewStandard, caller: Caller, installation: InstallationDep
) -> views.Standard:
    """Set the standard of a node, which replaces the node's earlier standard. Only the owner may."""
    new = standards.NewStandard(**body.model_dump())
    return standards.set_standard(installation.acting_for(caller), node_id, new)
