"""Commands about actions that wait for a decision: ``actions``, ``approve``, ``reject`` and ``standard``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, more
from neurigraph_pipelines.faces.cli.session import Cursor, Limit, UserSlug, claims_of, node_id_of, opened, parse_id
from neurigraph_pipelines.views.kinds import ActionKind, Rule

if TYPE_CHECKING:
    from neurigraph_pipelines.views.actions import Action

commands = typer.Typer()

ActionId = Annotated[str, typer.Argument(metavar="ACTION", help="Id of an action.")]


@commands.command("actions")
def list_actions(
    user: UserSlug,
    kind: Annotated[ActionKind | None, typer.Option(help="Only actions of this kind.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Include decided and expired ones.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the actions that wait for a decision, newest first."""
    from neurigraph_pipelines.knowledge.deciding import actions
    from neurigraph_pipelines.views.kinds import ActionState

    with opened() as installation:
        found = actions.page_of_actions(
            installation.database,
            installation.cursors,
            claims_of(installation, user),
            kind=kind,
            state=None if all_of_them else ActionState.OPEN,
            limit=limit,
            cursor=cursor,
        )
    shown = [*map(_line, found.items), *more(found.next_cursor)] or ["Nothing waits for a decision."]
    Output(as_json).result(found.shown("actions"), _lines(*shown))


@commands.command("approve")
def approve(action: ActionId, user: UserSlug, as_json: Json = False) -> None:
    """Approve an action, which is carried out at once."""
    _vote(action, user, as_json, approves=True)


@commands.command("reject")
def reject(action: ActionId, user: UserSlug, as_json: Json = False) -> None:
    """Reject an action. A note that waited for it is erased."""
    _vote(action, user, as_json, approves=False)


@commands.command("standard")
def standard(
    node: Annotated[str, typer.Argument(help="Path or id of a node.")],
    user: UserSlug,
    write: Annotated[Rule | None, typer.Option(help="Who writes, of the personas with a grant.")] = None,
    promote: Annotated[Rule | None, typer.Option(help="Who promotes memories to a longer tier.")] = None,
    delete: Annotated[Rule | None, typer.Option(help="Who deletes memories.")] = None,
    approver: Annotated[
        str | None, typer.Option(help="Who approves besides you: human (nobody), persona:ID or consensus:N.")
    ] = None,
    inherit: Annotated[bool, typer.Option(help="Take fields that are not set here from the nodes above.")] = True,
    tier: Annotated[str | None, typer.Option(help="How long memories are kept: short, mid or long.")] = None,
    ttl: Annotated[int | None, typer.Option(help="The same in seconds.")] = None,
    text: Annotated[str | None, typer.Option(help="The standard in words, which becomes a note.")] = None,
    as_json: Json = False,
) -> None:
    """Show the standard that holds at a node and where it comes from; with options, set the node's own instead."""
    from neurigraph_pipelines.graph.governance.standards import standard_of
    from neurigraph_pipelines.knowledge.deciding import standards

    new = standards.NewStandard(write, promote, delete, approver, inherit, tier, ttl, text)
    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = node_id_of(installation, claims, node)
        if new == standards.NewStandard():
            held = standard_of(installation.database, claims, node_id)
        else:
            held = standards.set_standard(installation.acting_for(claims), node_id, new)
    shown = [
        f"{name}: {'-' if one.value is None else one.value}{f'  from {one.from_node_id}' if one.from_node_id else ''}"
        for name, one in held.standard.items()
    ]
    Output(as_json).result(held, _lines(*shown))


def _vote(action: str, user: str, as_json: bool, *, approves: bool) -> None:
    from neurigraph_pipelines.knowledge.deciding import actions

    action_id = parse_id(action, "action", "actions")
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        decided = actions.vote(context, action_id, approves=approves)
    Output(as_json).result(decided, _lines(_line(decided)))


def _line(action: Action) -> str:
    about = action.fact_id or action.record_id or action.source_id or action.node_id
    other = action.other_fact_id or action.other_record_id or action.other_node_id
    return (
        f"{action.action_id}  {action.kind} {about}{f' {other}' if other else ''}  {action.state}, "
        f"{action.reason.replace('_', ' ')}, by {action.requested_by} {action.requested_at:%Y-%m-%d %H:%M} UTC"
    )


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view
