"""Commands about access of others to a graph: ``keys``, ``persona``, ``grant``, ``grants`` and ``revoke``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import (
    Cursor,
    Limit,
    SpaceTags,
    UserSlug,
    argument,
    claims_of,
    moment,
    node_id_of,
    opened,
)
from neurigraph_pipelines.model import GrantType, NodeType, SubjectType
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from neurigraph_pipelines.exchange.sharing import Subject
    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.access import Grant, GrantPreview, Key, OpenedRecord
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
_keys = typer.Typer(no_args_is_help=True, help="Issue, list, rotate and revoke API keys.")
_personas = typer.Typer(no_args_is_help=True, help="Create and list personas.")
commands.add_typer(_keys, name="keys")
commands.add_typer(_personas, name="persona")

_PersonaOption = Annotated[
    str | None,
    typer.Option("--persona", metavar="NODE", help="A persona, by path or id of its node.", show_default=False),
]
_ThirdParty = Annotated[
    str | None,
    typer.Option("--third-party", metavar="NAME", help="Another reader, by a name such as gmail.", show_default=False),
]
_Expires = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="End of validity, for example 2031-05-08. Default: no end.", show_default=False),
]
_All = Annotated[bool, typer.Option("--all", help="Include expired and revoked ones.")]


@_keys.command("add")
def add_key(
    user: UserSlug,
    persona: _PersonaOption = None,
    third_party: _ThirdParty = None,
    label: Annotated[str, typer.Option(help="A label to recognise it by.")] = "",
    expires: _Expires = None,
    space: SpaceTags = None,
    as_json: Json = False,
) -> None:
    """Issue a key for the user, a persona or a third party. It is shown only once.

    With --space, nothing outside of these spaces exists for it.
    """
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        key, secret = sharing.issue_key(
            installation.database,
            claims,
            subject=_subject(installation, claims, persona, third_party),
            label=argument(label),
            expires_at=moment("--expires", expires),
            container_tags=[argument(one) for one in space or ()],
        )
    Output(as_json).result({"user": user, **dict(key), "api_key": secret}, _lines(secret))


@_keys.command("list")
def list_keys(
    user: UserSlug, all_of_them: _All = False, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False
) -> None:
    """List the keys of a graph without their secrets, newest first."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        found = sharing.page_of_keys(
            installation.database, installation.cursors, claims, with_ended=all_of_them, limit=limit, cursor=cursor
        )
    Output(as_json).result(found.shown("keys"), _lines(*map(_key_line, found.items), *more(found.next_cursor)))


@_keys.command("rotate")
def rotate_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id from `keys list`.", show_default=False)],
    user: UserSlug,
    grace: Annotated[float, typer.Option(min=0, help="Seconds for which the old key stays valid.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Issue a key that replaces another, for the same holder. It is shown only once."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        key, secret = sharing.rotate_key(installation.database, claims, _id(key_id, "key"), grace_seconds=grace)
    Output(as_json).result({"user": user, **dict(key), "api_key": secret}, _lines(secret))


@_keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Id from `keys list`.", show_default=False)],
    user: UserSlug,
    as_json: Json = False,
) -> None:
    """Revoke a key. It is rejected from the next call on."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        key = sharing.revoke_key(installation.database, claims_of(installation, user), _id(key_id, "key"))
    Output(as_json).result(key, _lines(_key_line(key)))


@_personas.command("add")
def add_persona(
    name: Annotated[str, typer.Argument(help="Name of the persona.", show_default=False)],
    user: UserSlug,
    below: Annotated[str, typer.Option(metavar="NODE", help="Parent node, by path or id. Default: the root.")] = "",
    summary: Annotated[str, typer.Option(help="Subject of the persona.")] = "",
    writes: Annotated[bool, typer.Option("--writes", help="Grant it write access to its own node.")] = False,
    as_json: Json = False,
) -> None:
    """Create a persona: a node whose key reads only it and the nodes below it."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = sharing.add_node(
            installation.database,
            claims,
            node_id_of(installation, claims, below),
            argument(name),
            node_type=NodeType.PERSONA,
            summary=argument(summary),
            writes=writes,
        )
    Output(as_json).result(
        {"node_id": node_id}, _lines(str(node_id), f"Next: neurigraph keys add --user {user} --persona {node_id}")
    )


@_personas.command("list")
def list_personas(user: UserSlug, as_json: Json = False) -> None:
    """List the personas of a graph."""
    from neurigraph_pipelines.graph import personas

    with opened() as installation:
        found = personas.list_personas(installation.database, claims_of(installation, user))
    Output(as_json).result(
        {"personas": found},
        _lines(*(f"{one.node_id}  {one.path}  {counted(one.record_count, 'record')}" for one in found)),
    )


@commands.command()
def grant(
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node to grant, by path or id.", show_default=False)],
    user: UserSlug,
    persona: _PersonaOption = None,
    third_party: _ThirdParty = None,
    write: Annotated[bool, typer.Option("--write", help="Let the persona write to it as well.")] = False,
    expires: _Expires = None,
    preview: Annotated[bool, typer.Option("--preview", help="Print what it would open, and grant nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Grant a persona or a third party access to exactly one node, and no node above, beside or below it."""
    from neurigraph_pipelines.exchange import grant_previews, sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        subject = _subject(installation, claims, persona, third_party)
        if subject is None:
            raise InvalidInputError("give --persona or --third-party")
        node_id = node_id_of(installation, claims, node)
        if preview:
            opens = grant_previews.preview_grant(installation.database, claims, node_id)
            Output(as_json).result(opens, _lines(*_preview_lines(opens)))
            return
        granted, created = sharing.grant(
            installation.database,
            claims,
            subject,
            node_id,
            GrantType.READ_WRITE if write else GrantType.READ,
            expires_at=moment("--expires", expires),
        )
    Output(as_json).result({**dict(granted), "new": created}, _lines(_grant_line(granted)))


@commands.command()
def grants(
    user: UserSlug,
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="Only grants of this node, by path or id.", show_default=False)
    ] = None,
    all_of_them: _All = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the grants of a graph or a node, newest first."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = None if node is None else node_id_of(installation, claims, node)
        found = sharing.page_of_grants(
            installation.database,
            installation.cursors,
            claims,
            node_id=node_id,
            with_ended=all_of_them,
            limit=limit,
            cursor=cursor,
        )
    shown = [*map(_grant_line, found.items), *more(found.next_cursor)]
    Output(as_json).result(found.shown("grants"), _lines(*shown))


@commands.command()
def revoke(
    grant_id: Annotated[str, typer.Argument(metavar="GRANT_ID", help="Id from `grants`.", show_default=False)],
    user: UserSlug,
    as_json: Json = False,
) -> None:
    """Revoke a grant. It ends at once."""
    from neurigraph_pipelines.exchange import sharing

    with opened() as installation:
        revoked = sharing.revoke(installation.database, claims_of(installation, user), _id(grant_id, "grant"))
    Output(as_json).result(revoked, _lines(_grant_line(revoked)))


def _subject(
    installation: Installation, claims: Claims, persona: str | None, third_party: str | None
) -> Subject | None:
    from neurigraph_pipelines.exchange.sharing import Subject

    if persona is not None and third_party is not None:
        raise InvalidInputError("give --persona or --third-party, not both")
    if persona is not None:
        return Subject(SubjectType.PERSONA, str(node_id_of(installation, claims, persona)))
    return Subject(SubjectType.THIRD_PARTY, argument(third_party)) if third_party is not None else None


def _id(text: str, what: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFoundError(f"there is no {what} {text}") from None


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view


def _key_line(key: Key) -> str:
    holder = f"{key.role} {key.subject_id}" if key.subject_id else key.role
    used = f"last used {key.last_used_at:%Y-%m-%d %H:00}" if key.last_used_at else "not used yet"
    return _joined([str(key.key_id), holder, key.label, used], key.expires_at, key.revoked_at)


def _grant_line(one: Grant) -> str:
    return _joined(
        [str(one.grant_id), f"{one.subject_type} {one.subject_id}", one.grant_type, one.node_path],
        one.expires_at,
        one.revoked_at,
    )


def _preview_lines(opens: GrantPreview) -> Iterator[str]:
    span = f", {opens.first_at:%Y-%m-%d} to {opens.last_at:%Y-%m-%d}" if opens.first_at and opens.last_at else ""
    yield f"Would open {counted(opens.records, 'memory', 'memories')} of {opens.node_path}{span}."
    yield from map(_opened_line, opens.newest)
    if opens.records > len(opens.newest):
        yield f"  and {counted(opens.records - len(opens.newest), 'older one')}"
    if opens.foreign_looking:
        yield "These look foreign to the node; `neurigraph move` puts them elsewhere:"
        yield from map(_opened_line, opens.foreign_looking)


def _opened_line(one: OpenedRecord) -> str:
    return f"  {one.record_id}  {one.occurred_at:%Y-%m-%d}  {one.title}"


def _joined(parts: Sequence[str], expires_at: datetime | None, revoked_at: datetime | None) -> str:
    until = f"until {expires_at:%Y-%m-%d %H:%M}" if expires_at else ""
    revoked = f"revoked {revoked_at:%Y-%m-%d %H:%M}" if revoked_at else ""
    return "  ".join(part for part in (*parts, until, revoked) if part)
