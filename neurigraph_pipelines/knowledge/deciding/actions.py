"""Actions as callers see them: lists, votes, and requests of personas.

The database takes votes, from the claims that it has checked; ``execution`` carries out approved actions.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.deciding.execution import carry_out
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.actions import Action
from neurigraph_pipelines.views.kinds import ActionKind, ActionState

_QUERIES = statements("actions")
_REFUSED = {
    "mine": "nobody votes on what it asked for itself: another one has to",
    "model": "a person votes: use the command line or the API, not the tools of a model",
}


def page_of_actions(
    asked: Listing,
    *,
    kind: ActionKind | None = None,
    state: ActionState | None = ActionState.OPEN,
    node_id: UUID | None = None,
) -> Page[Action]:
    """Return a page of the actions that the caller may see, newest first.

    Args:
        state: None for all.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    filters = {"kind": kind, "state": state, "node_id": node_id}
    values = {"user_id": asked.claims.user_id, "action_id": None}
    statement = _QUERIES["actions"]
    return asked.views("actions", filters, statement, Action, lambda one: (one.requested_at, one.action_id), **values)


def get_action(database: Database, claims: Claims, action_id: UUID) -> Action:
    """Return an action, with the text of the note that it holds.

    Raises:
        NotFoundError: There is no such action, or the caller does not see it; also in the functions below.
    """
    require_visible(database, claims, "action", action_id)
    asked = {"user_id": claims.user_id, "action_id": action_id}
    anything = {"kind": None, "state": None, "node_id": None, "at": NEWEST[0], "id": NEWEST[1], "limit": 1}
    found = ask_views(database, claims, _QUERIES["actions"], Action, {**asked, **anything})
    if not found:
        raise NotFoundError
    held = database.ask(claims, _QUERIES["held_text"], {"action_id": action_id})
    return found[0].model_copy(update=held[0]) if held else found[0]


def vote(context: Context, action_id: UUID, *, approves: bool, takes_second: bool = False) -> Action:
    """Vote on an action, and carry the action out if the vote approves it. A repeated vote changes nothing.

    Args:
        takes_second: Approve the second of two proposed places.

    Raises:
        ForbiddenError: The caller asked for it itself, or is a model that uses its user's key.
        ConflictError: It has expired, or was decided otherwise.
        NeurigraphError: Approved, but it could not be carried out; ``failure`` says why, unless it is tried again.
    """
    get_action(context.database, context.claims, action_id)
    with context.database.agent(context.claims) as tx:
        cast = {"action_id": action_id, "approves": approves, "takes_second": takes_second}
        (row,) = tx.execute(_QUERIES["vote"], cast)
    outcome = str(row["outcome"])
    if outcome == "absent":
        raise NotFoundError
    if outcome in _REFUSED:
        raise ForbiddenError(_REFUSED[outcome])
    if outcome == ActionState.EXPIRED:
        raise ConflictError("nobody decided in time, so this has expired: ask for it again")
    if outcome == "voted" or ((outcome == ActionState.REJECTED) is approves and outcome != ActionState.OPEN):
        raise ConflictError("you voted otherwise, or this was decided otherwise: a decision stands")
    decided = get_action(context.database, context.claims, action_id)
    if outcome != ActionState.APPROVED:
        return decided
    return _finished(context, decided)


def request(context: Context, kind: ActionKind, record_id: UUID) -> Action:
    """Ask for a record to be deleted, promoted or archived, as a persona that may write to its node.

    If its standard asks for no approval, this is done at once.

    Raises:
        ForbiddenError: The standard leaves it to the owner, or the caller may not write there.
        ConflictError: This version cannot do it.
    """
    require_visible(context.database, context.claims, "record", record_id)
    if context.claims.role == "user":
        raise ConflictError(f"the owner of a graph asks nobody: {kind} it at once")
    with context.database.agent(context.claims) as tx:
        row = tx.execute(_QUERIES["request"], {"kind": kind, "record_id": record_id}).fetchone()
    if row is None or row["state"] == "absent":
        raise NotFoundError
    if row["state"] == "read only":
        raise ForbiddenError(
            f"this persona may only read the node: it has to be allowed to write there to ask to {kind} this"
        )
    if row["state"] == "forbidden":
        raise ForbiddenError(f"only the owner of the graph may {kind} this: the standard of its node says so")
    asked = get_action(context.database, context.claims, row["action_id"])
    return _finished(context, asked) if asked.state is ActionState.APPROVED else asked


def _finished(context: Context, approved: Action) -> Action:
    """Carry out an approved action and return it; one that removes its subject, and itself, is shown as executed.

    Raises:
        NotFoundError: Somebody forgot its subject before it was carried out.
    """
    done = carry_out(context, approved.action_id)
    try:
        return get_action(context.database, context.claims, approved.action_id)
    except NotFoundError:
        if not done and approved.kind not in (ActionKind.DELETE, ActionKind.MERGE_NODES):
            raise
        return approved.model_copy(update={"state": ActionState.EXECUTED})
