"""Commands that may sign a link: ``link add`` and ``link end``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    UserSlug,
    argument,
    claims_of,
    moment,
    node_id_of,
    opened,
    option,
    positional,
)
from neurigraph_pipelines.knowledge.linking import end_link, sign_ending, sign_link, state_link
from neurigraph_pipelines.knowledge.signing import private_key_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.views.kinds import EndKind
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

_Link = Annotated[str, positional("From `neurigraph fact links`.", "LINK_ID")]
_Start = Annotated[str, positional("`fact:ID` or `record:ID`; an id alone is a fact.", "FROM")]
_Key = Annotated[
    Path | None, option("Sign with this Ed25519 private key (PEM), which is not stored.", exists=True, dir_okay=False)
]
_Share = Annotated[float, typer.Option(min=0.0, max=1.0, help="From 0 to 1.")]


@commands.command()
def add(
    start: _Start,
    relation: Annotated[str, positional("Such as caused_by, led_to, supports or part_of.")],
    end: Annotated[str, positional("`fact:ID`, `record:ID`, `node:PATH` or `source:ID`.", "TO")],
    user: UserSlug,
    reason: Annotated[str | None, option("Why, in one sentence.")] = None,
    strength: _Share = 1.0,
    confidence: _Share = 1.0,
    valid_from: Annotated[str | None, option("Since when it holds.", metavar="TIME")] = None,
    valid_until: Annotated[str | None, option("When it stopped holding.", metavar="TIME")] = None,
    key: _Key = None,
    as_json: Json = False,
) -> None:
    """State a link. The same again changes nothing."""
    with opened() as installation:
        claims = claims_of(installation, user)
        said = StatedLink(
            _end(installation, claims, start),
            _end(installation, claims, end),
            argument(relation),
            strength=strength,
            confidence=confidence,
            reason=reason and argument(reason),
            valid_from=moment("--valid-from", valid_from),
            valid_until=moment("--valid-until", valid_until),
        )
        context = installation.acting_for(claims)
        signature = sign_link(context, said, private_key_of(key.read_bytes())) if key is not None else None
        written = state_link(context, said, signature=signature)
    line = f"Link {written.link_id}" + ("" if written.created else ", which was stated already")
    Output(as_json).said(written, line)


@commands.command("end")
def end_of(
    link: _Link,
    user: UserSlug,
    at: Annotated[str | None, option("When it stopped holding. Default: now.", metavar="TIME")] = None,
    key: _Key = None,
    as_json: Json = False,
) -> None:
    """End a link. The ended link stays, with the person who ended it."""
    until, signature = moment("--at", at), None
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        link_id = id_of(installation.database, context.claims, "link", argument(link))
        if key is not None:
            until = until or datetime.now(UTC)
            signature = sign_ending(context, link_id, until, private_key_of(key.read_bytes()))
        end_link(context, link_id, until, signature)
    Output(as_json).said({"link_id": link, "state": "ended"}, "The link is ended.")


def _end(installation: Installation, claims: Claims, text: str) -> LinkEnd:
    kind, is_named, rest = text.partition(":")
    if not is_named:
        return LinkEnd.fact(id_of(installation.database, claims, "fact", argument(text)))
    if kind not in list(EndKind):
        raise InvalidInputError(f"an end is one of {', '.join(f'{one}:ID' for one in EndKind)}")
    if kind == EndKind.NODE:
        return LinkEnd(EndKind.NODE, node_id_of(installation, claims, rest))
    return LinkEnd(EndKind(kind), id_of(installation.database, claims, kind, argument(rest)))
