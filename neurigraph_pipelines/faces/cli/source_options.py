"""The options by which commands that add memories say where these come from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.session import argument
from neurigraph_pipelines.model import Privacy, Tier
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.kinds import Channel, DocumentType

if TYPE_CHECKING:
    from neurigraph_pipelines.model.sources import SourceDetails
    from neurigraph_pipelines.views.scalars import Scalar

Origin = Annotated[str | None, typer.Option(help="The program or site that it comes from, such as slack.")]
Type = Annotated[
    str | None, typer.Option("--type", help="Type of the document, such as webpage, google_doc, tweet or repository.")
]
Url = Annotated[str | None, typer.Option(help="A page to read it at.")]
ChannelName = Annotated[str | None, typer.Option(help="Who could read it there: dm, private or public.")]
Author = Annotated[str | None, typer.Option(help="Who wrote it.")]
TimeZone = Annotated[
    str | None, typer.Option(help="The time zone of times that name none, such as Europe/Berlin. Default: UTC.")
]
Meta = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Another field of the source.")]
UpdatedAt = Annotated[datetime | None, typer.Option(help="When it last changed where it comes from.")]
Replaces = Annotated[
    UUID | None, typer.Option(metavar="SOURCE", help="The source that it is the next version of, by its id.")
]

TierName = Annotated[
    Literal["short", "mid", "long"] | None,
    typer.Option("--tier", help="How long it is kept: some hours, some days, or for good, which is the default."),
]


Private = Annotated[
    bool | None,
    typer.Option(
        "--private/--shared",
        help="Only the owner sees it, whatever grants others have; or everybody with a grant on its nodes. Default: "
        "private if its --channel is dm or private, otherwise shared.",
        show_default=False,
    ),
]
"""The option of commands that add memories."""


def stated_privacy(private: bool | None) -> Privacy | None:
    """Return the privacy that the options state; None if they state none."""
    if private is None:
        return None
    return Privacy.PRIVATE if private else Privacy.SHARED


def details_of(
    origin: str | None,
    document_type: str | None,
    url: str | None,
    channel: str | None,
    author: str | None,
    meta: list[str] | None,
    updated_at: datetime | None,
    replaces: UUID | None = None,
    tier: str | None = None,
    spaces: list[str] | None = None,
    time_zone: str | None = None,
) -> SourceDetails:
    """Return the fields of a source that the options state.

    Raises:
        InvalidInputError: A type, channel or time zone is unknown, or an option for metadata has no name.
    """
    from neurigraph_pipelines.inbox.imports.zones import with_zone

    metadata: dict[str, Scalar] = {}
    for one in meta or ():
        name, equals, value = argument(one).partition("=")
        if not equals or not name:
            raise InvalidInputError(f"--meta {one[:50]!r} has no name and value: write it as NAME=VALUE")
        metadata[name] = value
    details = SourceDetails(
        origin=argument(origin) if origin is not None else None,
        document_type=DocumentType(_one_of(document_type, list(DocumentType), "--type")) if document_type else None,
        url=argument(url) if url is not None else None,
        channel=Channel(_one_of(channel, list(Channel), "--channel")) if channel else None,
        author=argument(author) if author is not None else None,
        metadata=metadata,
        updated_at=updated_at,
        replaces=replaces,
        tier=Tier(tier) if tier is not None else None,
        container_tags=tuple(argument(one) for one in spaces or ()),
    )
    return with_zone(details, time_zone)


def _one_of(given: str, known: list[str], option: str) -> str:
    if given not in known:
        raise InvalidInputError(f"{option} {given[:50]!r} is not one of {', '.join(known)}")
    return given
