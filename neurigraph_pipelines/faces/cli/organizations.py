"""Commands about organizations: ``org create``, ``invite``, ``join`` and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import DryRun, argument, claims_of, note_user, opened, parse_id
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.views.kinds import MemberRole

if TYPE_CHECKING:
    from rich.console import RenderableType

    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.organizations import Member, Organization
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
_org = typer.Typer(no_args_is_help=True, help="Share a graph with other users.")
commands.add_typer(_org, name="org")

User = Annotated[
    str, typer.Option("--user", "-u", help="Slug of the user who acts.", show_default=False, callback=note_user)
]
Slug = Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Slug of an organization of the user.")]
MemberSlug = Annotated[str, typer.Argument(metavar="MEMBER", help="Slug of a member.")]
Role = Annotated[MemberRole, typer.Option(help="The rights of the member.")]
_COMMAND = "cli"


@_org.command("create")
def create(
    slug: Annotated[str, typer.Argument(help="Its name on the command line.")],
    user: User,
    name: Annotated[str | None, typer.Option(help="Its name for people. Default: the slug.")] = None,
    as_json: Json = False,
) -> None:
    """Create an organization that the user owns, and print a key of the user for it, which is not shown again."""
    from neurigraph_pipelines.exchange.organizations import membership

    with opened() as installation:
        made, key = membership.create(
            installation.database,
            claims_of(installation, user),
            argument(slug),
            argument(name or slug),
            opaque_schema_names=installation.settings.opaque_schema_names,
        )
    _print_with_key(made, key, as_json)


@_org.command("list")
def list_organizations(user: User, as_json: Json = False) -> None:
    """List the organizations of a user."""
    from neurigraph_pipelines.exchange.organizations import membership

    with opened() as installation:
        found = membership.list_organizations(installation.database, claims_of(installation, user))
    shown = [_line(one) for one in found] or ["There is no organization."]
    Output(as_json).result({"organizations": found}, lambda: _lines(*shown))


@_org.command("members")
def list_members(organization: Slug, user: User, as_json: Json = False) -> None:
    """List the members of an organization."""
    from neurigraph_pipelines.exchange.organizations import membership

    with opened() as installation:
        claims = claims_of(installation, user)
        found = membership.list_members(
            installation.database, claims, _organization(installation, claims, organization).organization_id
        )
    shown = [f"{one.slug}  {one.role}, since {one.joined_at:%Y-%m-%d}" for one in found]
    Output(as_json).result({"members": found}, lambda: _lines(*shown))


@_org.command("invite")
def invite(
    organization: Slug,
    user: User,
    role: Role = MemberRole.MEMBER,
    label: Annotated[str, typer.Option("--for", help="Whom it is for, such as an e-mail address.")] = "",
    hours: Annotated[float, typer.Option(help="For how long it is valid.")] = 168.0,
    as_json: Json = False,
) -> None:
    """Create an invitation and print its code, which works once and is not shown again."""
    from neurigraph_pipelines.exchange.organizations import invitations

    with opened() as installation:
        claims = claims_of(installation, user)
        organization_id = _organization(installation, claims, organization).organization_id
        made, code = invitations.invite(
            installation.database, claims, organization_id, role, label=argument(label), hours=hours
        )
    told = f"{made.invitation_id}  {made.role}, until {made.expires_at:%Y-%m-%d %H:%M} UTC"
    Output(as_json).result({**dict(made), "code": code}, lambda: _lines(told, f"code: {code}"))


@_org.command("invitations")
def list_invitations(
    organization: Slug,
    user: User,
    with_ended: Annotated[bool, typer.Option("--all", help="Include used, expired and revoked ones.")] = False,
    revoke: Annotated[str | None, typer.Option(help="First revoke this one.", metavar="INVITATION")] = None,
    as_json: Json = False,
) -> None:
    """List the invitations of an organization, or revoke one."""
    from neurigraph_pipelines.exchange.organizations import invitations

    with opened() as installation:
        claims = claims_of(installation, user)
        organization_id = _organization(installation, claims, organization).organization_id
        if revoke is not None:
            wanted: Any = parse_id(revoke, "invitation", "org invitations")
            invitations.revoke_invitation(installation.database, claims, organization_id, wanted)
        found = invitations.list_invitations(installation.database, claims, organization_id, with_ended=with_ended)
    shown = [f"{one.invitation_id}  {one.role} {one.label}".rstrip() for one in found] or ["There is no invitation."]
    Output(as_json).result({"invitations": found}, lambda: _lines(*shown))


@_org.command("join")
def join(
    code: Annotated[str, typer.Argument(help="Code of an invitation.")], user: User, as_json: Json = False
) -> None:
    """Become a member, and print a key of the user for the organization, which is not shown again."""
    from neurigraph_pipelines.exchange.organizations import invitations

    with opened() as installation:
        made, key = invitations.accept(installation.database, claims_of(installation, user), argument(code))
    _print_with_key(made, key, as_json)


@_org.command("adopt")
def adopt(
    organization: Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Slug of an organization.")],
    user: User,
    as_json: Json = False,
) -> None:
    """Make a user the owner of an organization that has none, such as a restored one."""
    from neurigraph_pipelines.exchange.organizations import membership

    with opened() as installation:
        graph = claims_of(installation, organization, whole_graph=True).user_id
        owner = claims_of(installation, user)
        membership.adopt(installation.database, graph, owner.user_id)
        made = _organization(installation, owner, organization)
    Output(as_json).result(made, lambda: _lines(_line(made)))


@_org.command("role")
def change_role(
    organization: Slug,
    member: MemberSlug,
    role: Annotated[MemberRole, typer.Argument(help="The rights of the member.")],
    user: User,
    as_json: Json = False,
) -> None:
    """Give a member another role."""
    from neurigraph_pipelines.exchange.organizations import membership

    with opened() as installation:
        claims = claims_of(installation, user)
        organization_id = _organization(installation, claims, organization).organization_id
        member_id = _member(installation, claims, organization_id, member).member_id
        changed = membership.change_role(installation.database, claims, organization_id, member_id, role)
    Output(as_json).result(changed, lambda: _lines(f"{changed.slug} is {changed.role}."))


@_org.command("leave")
def leave(
    organization: Slug,
    user: User,
    forget: Annotated[
        bool, typer.Option("--forget/--keep", help="Erase your shared sources, or leave them there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Leave an organization. Your private sources there are erased."""
    with opened() as installation:
        claims = claims_of(installation, user)
        organization_id = _organization(installation, claims, organization).organization_id
        _end(installation, claims, organization_id, claims.user_id, forget=forget, as_json=as_json)


@_org.command("remove")
def remove(organization: Slug, member: MemberSlug, user: User, as_json: Json = False) -> None:
    """Remove a member. The member's shared sources stay; the private ones are erased."""
    with opened() as installation:
        claims = claims_of(installation, user)
        organization_id = _organization(installation, claims, organization).organization_id
        member_id = _member(installation, claims, organization_id, member).member_id
        _end(installation, claims, organization_id, member_id, forget=False, as_json=as_json)


@_org.command("delete")
def delete(organization: Slug, user: User, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Erase an organization with its graph. This cannot be undone."""
    from neurigraph_pipelines.exchange.organizations import deletion

    with opened() as installation:
        claims = claims_of(installation, user)
        wanted = _organization(installation, claims, organization).organization_id
        if dry_run:
            found = deletion.preview_organization(installation.database, claims, wanted)
            told = f"This would erase {counted(len(found.nodes), 'node')} and {counted(found.records, 'record')}."
            Output(as_json).result(found, lambda: _lines(told))
            return
        receipt = deletion.delete_organization(installation.acting_for(claims), wanted, through=_COMMAND)
    Output(as_json).result(receipt, lambda: _lines(f"Erased {organization}."))


def _end(
    installation: Installation,
    claims: Claims,
    organization_id: UUID,
    member_id: UUID,
    *,
    forget: bool,
    as_json: bool,
) -> None:
    from neurigraph_pipelines.exchange.organizations import membership

    context = installation.acting_for(claims)
    done = membership.end_membership(context, organization_id, member_id, forget=forget, through=_COMMAND)
    told = f"The membership has ended. Erased: {counted(len(done), 'record')}."
    Output(as_json).result({"forgotten": done}, lambda: _lines(told))


def _organization(installation: Installation, claims: Claims, slug: str) -> Organization:
    from neurigraph_pipelines.exchange.organizations import membership

    for one in membership.list_organizations(installation.database, claims):
        if one.slug == slug:
            return one
    raise NotFoundError(f"the user is in no organization {argument(slug)!r}")


def _member(installation: Installation, claims: Claims, organization_id: UUID, slug: str) -> Member:
    from neurigraph_pipelines.exchange.organizations import membership

    for one in membership.list_members(installation.database, claims, organization_id):
        if one.slug == slug:
            return one
    raise NotFoundError(f"the organization has no member {argument(slug)!r}")


def _print_with_key(one: Organization, key: str, as_json: bool) -> None:
    Output(as_json).result({**dict(one), "api_key": key}, lambda: _lines(_line(one), f"key: {key}"))


def _line(one: Organization) -> str:
    return f"{one.slug}  {one.name}  {one.role}, {counted(one.members, 'member')}"


def _lines(*texts: str) -> RenderableType:
    from neurigraph_pipelines.faces.cli import views

    return views.lines(*texts)
