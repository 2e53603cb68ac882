"""Commands of links: ``link add``, ``list``, ``show``, ``end``, ``confirm`` and ``reject``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    Cursor,
    Limit,
    UserSlug,
    argument,
    claims_of,
    filter_option,
    moment,
    node_id_of,
    opened,
    parse_id,
)
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.links import End
from neurigraph_pipelines.views.kinds import EndKind, LinkVerdict

if TYPE_CHECKING:
    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.links import Link
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
_group = typer.Typer(help="State, show and decide about links between facts, memories, nodes and sources.")
commands.add_typer(_group, name="link", no_args_is_help=True)

_Link = Annotated[str, typer.Argument(metavar="LINK_ID", help="From `neurigraph link list`.", show_default=False)]
_Start = Annotated[
    str, typer.Argument(metavar="FROM", help="`fact:ID` or `record:ID`; an id alone is a fact.", show_default=False)
]
_Key = Annotated[
    Path | None,
    typer.Option(
        help="Sign with this Ed25519 private key (PEM), which is not stored.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]
_Share = Annotated[float, typer.Option(min=0.0, max=1.0, help="From 0 to 1.")]


@_group.command()
def add(
    start: _Start,
    relation: Annotated[str, typer.Argument(help="Such as caused_by, led_to, supports or part_of.")],
    end: Annotated[
        str,
        typer.Argument(metavar="TO", help="`fact:ID`, `record:ID`, `node:PATH` or `source:ID`.", show_default=False),
    ],
    user: UserSlug,
    reason: Annotated[str | None, typer.Option(help="Why, in one sentence.", show_default=False)] = None,
    strength: _Share = 1.0,
    confidence: _Share = 1.0,
    valid_from: Annotated[str | None, filter_option("Since when it holds.", "TIME")] = None,
    valid_until: Annotated[str | None, filter_option("When it stopped holding.", "TIME")] = None,
    key: _Key = None,
    as_json: Json = False,
) -> None:
    """State a link. The same again changes nothing."""
    from neurigraph_pipelines.knowledge.linking import StatedLink, sign_link, state_link
    from neurigraph_pipelines.knowledge.signing import private_key_of

    with opened() as installation:
        claims = claims_of(installation, user)
        said = StatedLink(
            _end(installation, claims, start),
            _end(installation, claims, end),
            argument(relation),
            strength,
            confidence,
            reason and argument(reason),
            valid_from=moment("--valid-from", valid_from),
            valid_until=moment("--valid-until", valid_until),
        )
        context = installation.acting_for(claims)
        if key is not None:
            said = sign_link(context, said, private_key_of(key.read_bytes()))
        written = state_link(context, said)
    line = f"Link {written.link_id}" + ("" if written.created else ", which was stated already")
    Output(as_json).result(written, _lines(line))


@_group.command("list")
def list_of(
    start: Annotated[
        str, typer.Argument(metavar="OF", help="`fact:ID` or `record:ID`; an id alone is a fact.", show_default=False)
    ],
    user: UserSlug,
    relation: Annotated[str | None, filter_option("Only in this relation.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Include rejected and ended ones.")] = False,
    computed: Annotated[
        bool, typer.Option(help="Of a fact: links computed now: alike, near in time, or with the same mentions.")
    ] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the links of a fact, or of a memory and its facts, newest first."""
    from neurigraph_pipelines.knowledge.computed_links import computed_links
    from neurigraph_pipelines.knowledge.link_lists import LinkFilter, list_links
    from neurigraph_pipelines.views.links import Links

    with opened() as installation:
        claims = claims_of(installation, user)
        of = _end(installation, claims, start)
        if of.kind not in (EndKind.FACT, EndKind.RECORD):
            raise InvalidInputError("give a fact or a memory: fact:ID or record:ID")
        if computed and of.kind is not EndKind.FACT:
            raise InvalidInputError("links are computed of a fact: give fact:ID with --computed")
        wanted = LinkFilter(
            fact_id=of.id if of.kind is EndKind.FACT else None,
            record_id=of.id if of.kind is EndKind.RECORD else None,
            relation=relation and argument(relation),
            with_ended=all_of_them,
        )
        if computed:
            found = computed_links(installation.acting_for(claims), of.id, wanted.relation)
        else:
            page = list_links(installation.database, installation.cursors, claims, wanted, limit=limit, cursor=cursor)
            found = Links(links=list(page.items), next_cursor=page.next_cursor)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.page([_row(one) for one in found.links], found.next_cursor)

    Output(as_json).result(found, view)


@_group.command()
def show(link: _Link, user: UserSlug, as_json: Json = False) -> None:
    """Show a link: both ends, its author, its signature, and the decision about it."""
    from neurigraph_pipelines.knowledge import link_lists as listing

    link_id = _link_id(link)
    with opened() as installation:
        found = listing.link(installation.database, claims_of(installation, user), link_id)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.fields({name: value for name, value in found if value not in (None, [], {})})

    Output(as_json).result(found, view)


@_group.command("end")
def end_of(
    link: _Link,
    user: UserSlug,
    at: Annotated[str | None, filter_option("When it stopped holding. Default: now.", "TIME")] = None,
    key: _Key = None,
    as_json: Json = False,
) -> None:
    """End a link. The ended link stays, with the person who ended it."""
    from neurigraph_pipelines.knowledge.linking import end_link, sign_ending
    from neurigraph_pipelines.knowledge.signing import private_key_of

    link_id, until, signature = _link_id(link), moment("--at", at), None
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        if key is not None:
            until = until or datetime.now(UTC)
            signature = sign_ending(context, link_id, until, private_key_of(key.read_bytes()))
        end_link(context, link_id, until, signature)
    _decided(link, "ended", as_json)


@_group.command()
def confirm(link: _Link, user: UserSlug, as_json: Json = False) -> None:
    """Confirm a link, even if it was rejected."""
    _decide(link, user, LinkVerdict.CONFIRMED, as_json)


@_group.command()
def reject(link: _Link, user: UserSlug, as_json: Json = False) -> None:
    """Reject a link. It is not inferred again; the effects of a verdict on two facts are undone."""
    _decide(link, user, LinkVerdict.REJECTED, as_json)


def _decide(link: str, user: str, verdict: LinkVerdict, as_json: bool) -> None:
    from neurigraph_pipelines.knowledge.linking import decide_link

    with opened() as installation:
        decide_link(installation.acting_for(claims_of(installation, user)), _link_id(link), verdict)
    _decided(link, verdict.value, as_json)


def _decided(link: str, what: str, as_json: bool) -> None:
    Output(as_json).result({"link_id": link, "state": what}, _lines(f"The link is {what}."))


def _end(installation: Installation, claims: Claims, text: str) -> End:
    kind, is_named, rest = text.partition(":")
    if not is_named:
        return End.fact(parse_id(text, "fact", "facts"))
    if kind not in list(EndKind):
        raise InvalidInputError(f"an end is one of {', '.join(f'{one}:ID' for one in EndKind)}")
    if kind == EndKind.NODE:
        return End(EndKind.NODE, node_id_of(installation, claims, rest))
    return End(EndKind(kind), parse_id(rest, kind, "facts" if kind == EndKind.FACT else "search"))


def _link_id(link: str) -> UUID:
    return parse_id(link, "link", "link list")


def _row(link: Link) -> dict[str, str]:
    """Return a link as a row, read from the end that was asked for."""
    words, text, end = (
        (link.forward, link.to_text, f"{link.to_kind}:{link.to_id}")
        if link.direction == "out"
        else (link.backward, link.from_text, f"{link.from_kind}:{link.from_id}")
    )
    decided = [] if link.verdict == "unverified" else [link.verdict]
    signed = [] if link.attest == "unsigned" else [f"signed ({link.attest})"]
    ended = ["ended"] if link.ended_at is not None else []
    return {
        "relation": words,
        "what": text or end,
        "confidence": f"{link.confidence:.2f}",
        "says": ", ".join([link.observed_by, *decided, *signed, *ended]),
        "id": str(link.link_id or f"from {link.computed_from}"),
    }


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view
