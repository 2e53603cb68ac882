"""The command ``belief``: the current version of a fact, and the facts that conflict with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, claims_of, opened, parse_id

if TYPE_CHECKING:
    from rich.console import RenderableType

commands = typer.Typer()


@commands.command()
def belief(
    fact: Annotated[str, typer.Argument(metavar="FACT_ID", help="From `neurigraph facts`.", show_default=False)],
    user: UserSlug,
    as_json: Json = False,
) -> None:
    """Show the current version of a fact, how far it is believed, and the facts that conflict with it."""
    from neurigraph_pipelines.knowledge import belief_lists as beliefs

    fact_id = parse_id(fact, "fact", "facts")
    with opened() as installation:
        found = beliefs.belief(installation.database, claims_of(installation, user), fact_id)

    def view() -> RenderableType:
        from neurigraph_pipelines.faces.cli import views

        current = found.current_belief
        lines = [
            f"{current.statement} ({current.status}, belief {found.belief:.2f})",
            *(["A conflict waits for your decision."] if found.needs_review else []),
            *(
                f"{one.said_at:%Y-%m-%d} {one.relationship}: {one.statement} ({one.reason})"
                for one in found.conflicting_beliefs
            ),
        ]
        return views.lines(*lines)

    Output(as_json).result(found, view)
