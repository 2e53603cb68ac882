"""Actions that wait for a decision, the votes on them, and the standards of nodes."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations import action_forms as forms
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph.governance.standards import standard_of
from neurigraph_pipelines.knowledge.deciding import actions, standards
from neurigraph_pipelines.views import actions as views
from neurigraph_pipelines.views.kinds import ActionKind, ActionState

operation = OperationGroup("actions")


@operation("GET /actions", "action list")
def list_actions(
    call: Call,
    kind: Annotated[ActionKind | None, Field(description="Only actions of this kind.")] = None,
    state: Annotated[ActionState, Field(description="Only actions in this state.")] = ActionState.OPEN,
    all_of_them: Annotated[bool, Field(alias="all", description="In whatever state.")] = False,
    node_id: Annotated[UUID | None, Field(description="Only actions at this node.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Actions:
    """List the actions that wait for a decision, as far as the caller may see them, newest first."""
    return call.page(
        views.Actions,
        actions.page_of_actions,
        kind=kind,
        state=None if all_of_them else state,
        node_id=node_id,
        limit=limit,
        cursor=cursor,
    )


@operation("POST /actions", "action add", status=201, refusals=(409,))
def request_action(call: Call, body: forms.NewAction) -> views.Action:
    """Ask, as a persona, for a record to be deleted, promoted, archived, or put into words with those around it."""
    return actions.request(call.context, ActionKind(body.kind), body.record_id)


@operation("GET /actions/{action_id}", "action show")
def action(call: Call, action_id: UUID) -> views.Action:
    """Return an action, with the text of the note that it holds."""
    return call.do(actions.get_action, action_id)


@operation(
    "POST /actions/{action_id}/votes",
    refusals=(409,),
    presets={"action approve": {"approves": True}, "action reject": {"approves": False}},
)
def vote(call: Call, action_id: UUID, body: forms.NewVote) -> views.Action:
    """Approve or reject an action. An action is carried out as soon as the last vote approves it."""
    return actions.vote(call.context, action_id, approves=body.approves, takes_second=body.second)


@operation("GET /nodes/{node_id}/standard", "node standard show")
def standard(call: Call, node_id: UUID) -> views.Standard:
    """Return the standard that holds at a node, and where each field comes from."""
    return call.do(standard_of, node_id)


@operation("PUT /nodes/{node_id}/standard", "node standard edit", refusals=(409,))
def set_standard(call: Call, node_id: UUID, body: views.NewStandard) -> views.Standard:
    """Set the standard of a node, which replaces the node's earlier standard. Only the owner may."""
    return standards.set_standard(call.context, node_id, body)
