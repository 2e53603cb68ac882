"""Commands about one fact: ``fact show``, ``add``, ``change``, ``retract``, ``confirm``, ``undo`` and ``forget``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.forgetting import Confirmed, erase
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    DryRun,
    UserSlug,
    argument,
    claims_of,
    moment,
    next_step,
    node_id_of,
    opened,
    parse_id,
)
from neurigraph_pipelines.faces.cli.uploading import Private
from neurigraph_pipelines.views.kinds import FactKind

if TYPE_CHECKING:
    from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
    from neurigraph_pipelines.views.facts import StatedFact

commands = typer.Typer()
_group = typer.Typer(help="State, show and change single facts.", no_args_is_help=True)
commands.add_typer(_group, name="fact")

_Fact = Annotated[str, typer.Argument(metavar="FACT_ID", help="From `neurigraph facts`.", show_default=False)]
_Kind = Annotated[FactKind | None, typer.Option(help="The kind of statement.", show_default=False)]
_Who = Annotated[list[str] | None, typer.Option(help="A person that it is about.", show_default=False)]
_Tag = Annotated[list[str] | None, typer.Option(help="A tag.", show_default=False)]
_Pin = Annotated[bool | None, typer.Option("--pin/--unpin", help="Keep the fact in force, whatever else is said.")]
_ValidUntil = Annotated[
    str | None, typer.Option(metavar="TIME", help="When it stopped being true.", show_default=False)
]
_ForgetAfter = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="From then on it is hidden, and erased 30 days later.", show_default=False),
]


@_group.command()
def show(fact: _Fact, user: UserSlug, as_json: Json = False) -> None:
    """Show a fact with its versions, its changes, and where it was said."""
    from neurigraph_pipelines.knowledge import fact_lists as listing

    fact_id = parse_id(fact, "fact", "facts")
    with opened() as installation:
        claims = claims_of(installation, user)
        found = listing.fact(installation.database, claims, fact_id)
        history = listing.history(installation.database, claims, fact_id)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        shown = {name: value for name, value in found if name != "said_in" and value not in (None, [], {})}
        said = [
            {
                "said in": one.record_id,
                "messages": f"{one.first_message} to {one.last_message}",
                "by": one.author or "",
                "through": one.received_through or "",
            }
            for one in found.said_in
        ]
        versions = [{"version": one.version, "fact": one.statement, "status": one.status} for one in history.versions]
        changes = [
            {"changed": f"{one.changed_at:%Y-%m-%d %H:%M}", "what": one.operation, "by": one.authored_by}
            for one in history.changes
        ]
        tables = [views.table(rows) for rows in (said, versions, changes) if rows]
        return views.stacked(views.fields(shown), *tables)

    Output(as_json).result(dict(found) | dict(history), view)


@_group.command()
def add(
    statement: Annotated[str, typer.Argument(help="One sentence that can be understood alone.")],
    user: UserSlug,
    path: Annotated[
        str | None, typer.Option(help="File it at the node of this path. Default: the language model files it.")
    ] = None,
    node: Annotated[str | None, typer.Option(metavar="NODE", help="File it at this node, by id or path.")] = None,
    kind: _Kind = None,
    who: _Who = None,
    tag: _Tag = None,
    pin: _Pin = None,
    valid_until: _ValidUntil = None,
    forget_after: _ForgetAfter = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """State a fact by hand. It is a note whose memory carries exactly this fact."""
    from neurigraph_pipelines.knowledge.stating import NewFact, state_fact
    from neurigraph_pipelines.model import Privacy

    with opened() as installation:
        claims = claims_of(installation, user)
        new = NewFact(
            _words(statement, kind, who),
            _state(tag, pin, valid_until, forget_after),
            path=path,
            node_id=node_id_of(installation, claims, node) if node is not None else None,
            privacy=Privacy.PRIVATE if private else Privacy.SHARED,
        )
        stated = state_fact(installation.acting_for(claims), new)
    Output(as_json).result(stated, lambda: _written(stated))


@_group.command()
def change(
    fact: _Fact,
    user: UserSlug,
    statement: Annotated[str | None, typer.Option(help="The next version's words.", show_default=False)] = None,
    kind: _Kind = None,
    who: _Who = None,
    tag: _Tag = None,
    pin: _Pin = None,
    valid_until: _ValidUntil = None,
    forget_after: _ForgetAfter = None,
    as_json: Json = False,
) -> None:
    """Change a fact. New words, another kind or other people are its next version; the rest applies at once."""
    from neurigraph_pipelines.knowledge.stating import change_fact

    fact_id = parse_id(fact, "fact", "facts")
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        changed = change_fact(
            context, fact_id, _words(statement, kind, who), _state(tag, pin, valid_until, forget_after)
        )
    if changed is None:
        _decided(fact, "changed", as_json)
    else:
        Output(as_json).result(changed, lambda: _written(changed))


@_group.command()
def retract(fact: _Fact, user: UserSlug, as_json: Json = False) -> None:
    """Take a fact back. It is archived, and the version that it superseded stands again."""
    from neurigraph_pipelines.knowledge import stating

    with opened() as installation:
        stating.retract(installation.acting_for(claims_of(installation, user)), parse_id(fact, "fact", "facts"))
    _decided(fact, "archived", as_json)


@_group.command()
def confirm(fact: _Fact, user: UserSlug, as_json: Json = False) -> None:
    """Confirm that a fact holds, even if it was retracted or disputed."""
    from neurigraph_pipelines.knowledge import stating

    with opened() as installation:
        stating.confirm(installation.acting_for(claims_of(installation, user)), parse_id(fact, "fact", "facts"))
    _decided(fact, "confirmed", as_json)


@_group.command()
def undo(
    fact: _Fact,
    user: UserSlug,
    other: Annotated[
        str | None, typer.Option(metavar="FACT_ID", help="Only verdicts on this fact, too.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Undo the results of comparing a fact with others: supersessions in both directions, and disputes."""
    from neurigraph_pipelines.knowledge import undoing

    fact_id = parse_id(fact, "fact", "facts")
    other_id = parse_id(other, "fact", "facts") if other is not None else None
    with opened() as installation:
        done = undoing.undo(installation.acting_for(claims_of(installation, user)), fact_id, other_id)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        if not done:
            return views.lines("There is nothing to take back.")
        return views.stacked(views.lines("Taken back:"), views.table([dict(one) for one in done]))

    Output(as_json).result({"undone": done}, view)


@_group.command()
def forget(fact: _Fact, user: UserSlug, dry_run: DryRun = False, yes: Confirmed = False, as_json: Json = False) -> None:
    """Erase a fact, and the note that states it if it was stated by hand. This cannot be undone.

    Other facts stay in the file of their memory, but reading it again does not bring them back.
    """
    fact_id = parse_id(fact, "fact", "facts")
    erase(user, str(fact_id), only_facts=True, dry_run=dry_run, yes=yes, as_json=as_json)


def _words(statement: str | None, kind: FactKind | None, who: list[str] | None) -> FactWords:
    from neurigraph_pipelines.knowledge.fact_values import FactWords

    people = [argument(one) for one in who] if who else None
    return FactWords(argument(statement) if statement is not None else None, kind, who=people)


def _state(tag: list[str] | None, pin: bool | None, valid_until: str | None, forget_after: str | None) -> FactState:
    from neurigraph_pipelines.knowledge.fact_values import FactState

    return FactState(
        pinned=pin,
        tags=[argument(one) for one in tag] if tag else None,
        valid_until=moment("--valid-until", valid_until),
        forget_after=moment("--forget-after", forget_after),
    )


def _written(stated: StatedFact) -> Any:
    from neurigraph_pipelines.faces.cli import views

    if not stated.created:
        return views.lines(f"Fact {stated.fact_id} was stated already.")
    return views.lines(f"Fact {stated.fact_id} is written as note {stated.note_id}.", next_step())


def _decided(fact: str, what: str, as_json: bool) -> None:
    from neurigraph_pipelines.faces.cli import views

    Output(as_json).result({"fact_id": fact, "outcome": what}, lambda: views.lines(f"Fact {fact} is {what}."))
