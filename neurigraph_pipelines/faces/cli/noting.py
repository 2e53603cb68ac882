"""The command that writes a note: ``note``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli import source_options
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    SpaceTags,
    UserSlug,
    argument,
    claims_of,
    next_step,
    node_id_of,
    opened,
)
from neurigraph_pipelines.faces.cli.source_options import Private, stated_privacy

if TYPE_CHECKING:
    from neurigraph_pipelines.inbox.notes import WrittenNote

commands = typer.Typer()


Title = Annotated[str | None, typer.Option(help="Title of the memory. Default: the language model finds one.")]
Conflict = Annotated[
    Literal["error", "version", "supersede"],
    typer.Option(
        help="If the node has a note of this title: refuse; write its next version; or write another note that "
        "supersedes it."
    ),
]
Pinned = Annotated[
    str | None,
    typer.Option(help="Pin the note to the node at this path, such as Family/Dave. Missing nodes are created."),
]
PinnedNode = Annotated[
    str | None, typer.Option(metavar="NODE", help="Pin the note to this node instead, by id or path.")
]
Replaced = Annotated[
    UUID | None, typer.Option(metavar="NOTE", help="Another note, whose memory this one supersedes, by its id.")
]


@commands.command(short_help="Write a note, remembered as it is.")
def note(
    text: Annotated[str, typer.Argument(help="The text to remember, word for word.")],
    user: UserSlug,
    title: Title = None,
    path: Pinned = None,
    node: PinnedNode = None,
    tag: Annotated[list[str] | None, typer.Option(help="A topic of the memory.")] = None,
    importance: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    priority: Annotated[int | None, typer.Option(help="From 1 to 10 instead of --importance.")] = None,
    on_conflict: Conflict = "error",
    origin: source_options.Origin = None,
    document_type: source_options.Type = None,
    url: source_options.Url = None,
    channel: source_options.ChannelName = None,
    author: source_options.Author = None,
    meta: source_options.Meta = None,
    updated_at: source_options.UpdatedAt = None,
    tier: source_options.TierName = None,
    space: SpaceTags = None,
    replaces: Replaced = None,
    private: Private = None,
    as_json: Json = False,
) -> None:
    """Write a note, which is remembered as it is.

    A note that is pinned to a node lies there; others are filed by the language model. The same text again, with the
    same title, node and privacy, is the same note as long as its memory is current.
    """
    from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, write_note

    where = (origin, document_type, url, channel, author, meta, updated_at)
    with opened() as installation:
        claims = claims_of(installation, user)
        new = IncomingNote(
            text=argument(text),
            title=argument(title) if title is not None else None,
            path=argument(path) if path is not None else None,
            node_id=node_id_of(installation, claims, node) if node is not None else None,
            importance=importance,
            priority=priority,
            tags=tuple(map(argument, tag or ())),
            on_conflict=OnConflict(on_conflict),
            privacy=stated_privacy(private),
            replaces=replaces,
            details=source_options.details_of(*where, tier=tier, spaces=space),
        )
        written = write_note(installation.acting_for(claims), new)
    Output(as_json).result(asdict(written), partial(_view, written))


def _view(written: WrittenNote) -> Any:
    from neurigraph_pipelines.faces.cli import layouts

    if not written.created:
        return layouts.lines(f"Note {written.note_id} says the same already.")
    version = f", version {written.version}" if written.version > 1 else ""
    return layouts.lines(f"Note {written.note_id}{version} is written.", next_step())
