"""The command that says who may know of what came in: ``privacy``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import UserSlug, argument, claims_of, opened
from neurigraph_pipelines.model import Privacy

commands = typer.Typer()


@commands.command("privacy")
def set_privacy(
    source: Annotated[str, typer.Argument(help="A conversation, event or upload: its id, or that of its program.")],
    privacy: Annotated[Privacy, typer.Argument(help="private: nobody but the owner. shared: who sees its nodes.")],
    user: UserSlug,
    as_json: Json = False,
) -> None:
    """Make a conversation, an event or an upload private, or share it again, with all memories that came from it.

    A private one is seen by the owner of the graph alone, whoever is granted the nodes that it lies in.
    """
    from neurigraph_pipelines.ingestion import privacy as sources

    with opened() as installation:
        claims = claims_of(installation, user)
        source_id = sources.find_source(installation.database, claims, argument(source))
        sources.set_privacy(installation.database, claims, source_id, privacy)

    def view() -> Any:
        from neurigraph_pipelines.cli import views

        return views.lines(f"{source} is {privacy} now, and so is what came from it.")

    Output(as_json).result({"source_id": source_id, "privacy": privacy}, view)
