"""Commands about quarantine: ``quarantine add``, ``list``, ``release`` and ``suggest``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import (
    Cursor,
    DryRun,
    Limit,
    UserSlug,
    argument,
    claims_of,
    moment,
    node_id_of,
    opened,
    parse_id,
)

if TYPE_CHECKING:
    from neurigraph_pipelines.lifecycle.quarantine.rules import Rule
    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.quarantines import Conditions, Quarantine, QuarantinePreview, Suggestion
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Put memories out of every retrieval, keep them, and put them back.")
commands.add_typer(_group, name="quarantine")


@_group.command("add")
def add(
    user: UserSlug,
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    source: Annotated[
        str | None, typer.Option(metavar="ID", help="A conversation, event, upload or note, by id or external id.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="ID", help="Messages handed in with this API key.")] = None,
    persona: Annotated[
        str | None, typer.Option(metavar="NODE", help="Messages this persona handed in, by path or id of its node.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Messages received from this time on.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Messages received before this time.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Hide memories from every retrieval at once, if one of their messages meets all given conditions.

    They are kept, and `neurigraph quarantine release` puts them back as they were. What is stored later and meets the
    conditions is hidden from the start.
    """
    from neurigraph_pipelines.lifecycle.quarantine import holding, rules

    with opened() as installation:
        claims = claims_of(installation, user)
        rule = _rule(installation, claims, source, key, persona, since, until)
        if dry_run:
            met = rules.preview(installation.database, claims, rule)
            Output(as_json).result({"dry_run": True, **dict(met)}, lambda: _preview_view(met))
            return
        held = holding.quarantine(installation.acting_for(claims), rule, argument(reason))
    Output(as_json).result(held, _lines(_line(held), f"Undo: {_release(held, user)}"))


@_group.command("release")
def release(
    quarantine: Annotated[str, typer.Argument(help="Id of a quarantine.")], user: UserSlug, as_json: Json = False
) -> None:
    """End a quarantine: memories that are in no other one are found again, unchanged."""
    from neurigraph_pipelines.lifecycle.quarantine import holding

    quarantine_id = parse_id(quarantine, "quarantine", "quarantine list")
    with opened() as installation:
        released = holding.release(installation.acting_for(claims_of(installation, user)), quarantine_id)
    Output(as_json).result(released, _lines(_line(released)))


@_group.command("list")
def list_quarantines(
    user: UserSlug,
    all_of_them: Annotated[bool, typer.Option("--all", help="Include released ones.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List quarantines, newest first: their conditions, authors, times and reasons."""
    from neurigraph_pipelines.lifecycle.quarantine import rules

    with opened() as installation:
        claims = claims_of(installation, user)
        found = rules.page_of_quarantines(
            installation.database, installation.cursors, claims, with_released=all_of_them, limit=limit, cursor=cursor
        )
    shown = [*map(_line, found.items), *more(found.next_cursor)] or ["Nothing is in quarantine."]
    Output(as_json).result(found.shown("quarantines"), _lines(*shown))


@_group.command("suggest")
def suggest(
    user: UserSlug,
    records: Annotated[int, typer.Option(min=1, help="How many of the newest memories are read.")] = 200,
    as_json: Json = False,
) -> None:
    """Show suspicious memories: hidden instructions, stuffed keywords, restatements and floods.

    Only suggests. Each suggestion comes with the command that would put it away.
    """
    from neurigraph_pipelines.lifecycle.quarantine import suggestions

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        found = suggestions.suggest(context, records=records)
    shown = [line for one in found for line in _suggestion(one, user)] or ["Nothing looks suspicious."]
    Output(as_json).result({"suggestions": found}, _lines(*shown))


def _rule(
    installation: Installation,
    claims: Claims,
    source: str | None,
    key: str | None,
    persona: str | None,
    since: str | None,
    until: str | None,
) -> Rule:
    from neurigraph_pipelines.inbox.privacy import find_source
    from neurigraph_pipelines.lifecycle.quarantine.rules import Rule

    return Rule(
        find_source(installation.database, claims, argument(source)) if source is not None else None,
        parse_id(key, "key", "keys list") if key is not None else None,
        _persona(installation, claims, persona) if persona is not None else None,
        moment("--from", since),
        moment("--until", until),
    )


def _persona(installation: Installation, claims: Claims, place: str) -> UUID:
    """Return the id of a persona; one whose node is gone is known by its id."""
    try:
        return UUID(place)
    except ValueError:
        return node_id_of(installation, claims, place)


def _conditions(rule: Conditions) -> str:
    named = {
        "--source": rule.source_id,
        "--key": rule.key_id,
        "--persona": rule.persona_id,
        "--from": rule.received_after and rule.received_after.isoformat(),
        "--until": rule.received_before and rule.received_before.isoformat(),
    }
    return " ".join(f"{name} {value}" for name, value in named.items() if value is not None)


def _line(held: Quarantine) -> str:
    state = (
        f"released {held.released_at:%Y-%m-%d %H:%M} UTC"
        if held.released_at
        else f"{counted(held.records, 'memory', 'memories')} held"
        + (f", {counted(held.revisions, 'change')} undone" if held.revisions else "")
    )
    return (
        f"{held.quarantine_id}  {state}  {_conditions(held)}  "
        f"{held.created_at:%Y-%m-%d %H:%M} UTC by {held.requested_by}: {held.reason}"
    )


def _release(held: Quarantine, user: str) -> str:
    return f"neurigraph quarantine release {held.quarantine_id} --user {user}"


def _suggestion(found: Suggestion, user: str) -> tuple[str, str]:
    kind = found.suspicion.replace("_", " ")
    command = f"neurigraph quarantine add --user {user} {_conditions(found.rule)} --reason '{kind}' --dry-run"
    return f"{kind}: {found.detail}", f"    {command}"


def _preview_view(met: QuarantinePreview) -> Any:
    from neurigraph_pipelines.faces.cli import views

    already = f", of which {met.hidden_already:,} are in quarantine already" if met.hidden_already else ""
    lines = [
        f"Would put away {counted(met.records, 'memory', 'memories')} in {counted(met.nodes, 'node')}, "
        f"for {counted(met.messages, 'message')}{already}."
    ]
    if met.revisions:
        memories = counted(len(met.revised_record_ids), "memory", "memories")
        lines.append(f"Would undo {counted(met.revisions, 'change')} of {memories}.")
    return views.lines(*lines)


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view
