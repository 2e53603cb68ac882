"""The command that sets who may see a source: ``source edit``."""

from __future__ import annotations

from typing import Annotated

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, opened
from neurigraph_pipelines.inbox import privacy as sources
from neurigraph_pipelines.model import Privacy

commands = typer.Typer()


@commands.command("edit")
def set_privacy(
    source: Annotated[str, typer.Argument(help="Id or external id of a conversation, event, upload or note.")],
    privacy: Annotated[
        Privacy, typer.Argument(help="private: only the owner sees it. shared: everybody who sees its nodes.")
    ],
    user: UserSlug,
    as_json: Json = False,
) -> None:
    """Make a conversation, an event, an upload or a note private, or share it again, with all memories from it.

    Only the owner of the graph sees a private source, even if others may read its nodes.
    """
    with opened() as installation:
        claims = claims_of(installation, user)
        source_id = sources.find_source(installation.database, claims, argument(source))
        sources.set_privacy(installation.database, claims, source_id, privacy)

    Output(as_json).said(
        {"source_id": source_id, "privacy": privacy}, f"{source} and all memories from it are now {privacy}."
    )
