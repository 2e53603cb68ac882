"""Commands that may sign a link: ``link add`` and ``link end``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, node_id_of, opened, option, positional
from neurigraph_pipelines.faces.cli.taken import checked, fields_of, read_values, stated_by, with_options
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.link_forms import FROM, TO, EndLink, NewLink
from neurigraph_pipelines.knowledge.linking import end_link, sign_ending, sign_link, state_link
from neurigraph_pipelines.knowledge.signing import private_key_of
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.kinds import EndKind

commands = typer.Typer()

_Link = Annotated[str, positional("From `neurigraph fact links`.", "LINK_ID")]
_Start = Annotated[str, positional("`fact:ID` or `record:ID`; an id alone is a fact.", "FROM")]
_Key = Annotated[
    Path | None, option("Sign with this Ed25519 private key (PEM), which is not stored.", exists=True, dir_okay=False)
]
_APART = {*FROM, *TO, "relation", "signature"}
_ABOUT = [one for one in fields_of(NewLink, {}) if one.name not in _APART]
_ENDING = [one for one in fields_of(EndLink, {"valid_until": "--at"}) if one.name not in _APART]


@commands.command()
@with_options(_ABOUT)
def add(
    start: _Start,
    relation: Annotated[str, positional("Such as caused_by, led_to, supports or part_of.")],
    end: Annotated[str, positional("`fact:ID`, `record:ID`, `node:PATH` or `source:ID`.", "TO")],
    user: UserSlug,
    key: _Key = None,
    **stated: Any,
) -> None:
    """State a link. The same again changes nothing."""
    with opened() as installation:
        call = Call(installation, claims_of(installation, user), "cli")
        given = {**_end(call, FROM, start), **_end(call, TO, end), **read_values(_ABOUT, call, stated)}
        labels = {one.name: one.label for one in _ABOUT}
        said = checked(NewLink.model_validate, {"relation": argument(relation), **given}, labels).link
        signature = sign_link(call.context, said, private_key_of(key.read_bytes())) if key is not None else None
        written = state_link(call.context, said, signature=signature)
    line = f"Link {written.link_id}" + ("" if written.created else ", which was stated already")
    output.said(written, line)


@commands.command("end")
@with_options(_ENDING)
def end_of(link: _Link, user: UserSlug, key: _Key = None, **stated: Any) -> None:
    """End a link. The ended link stays, with the person who ended it."""
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        link_id = id_of(installation.database, context.claims, "link", argument(link))
        until, signature = stated_by(EndLink, _ENDING, stated).valid_until, None
        if key is not None:
            until = until or datetime.now(UTC)
            signature = sign_ending(context, link_id, until, private_key_of(key.read_bytes()))
        end_link(context, link_id, until, signature)
    output.said({"link_id": link, "state": "ended"}, "The link is ended.")


def _end(call: Call, names: tuple[str, ...], text: str) -> dict[str, UUID]:
    """Return an end of a link as a field of its form, one of some names."""
    kind, is_named, rest = text.partition(":")
    if not is_named:
        kind, rest = EndKind.FACT.value, text
    name = f"{names[0].partition('_')[0]}_{kind}_id"
    if name not in names:
        kinds = ", ".join(f"{one.split('_')[1]}:ID" for one in names)
        raise InvalidInputError(f"{text[:80]!r} is no end of a link: give one of {kinds}")
    if kind == EndKind.NODE:
        return {name: node_id_of(call.installation, call.caller, rest)}
    return {name: id_of(call.database, call.caller, kind, argument(rest))}
