"""Commands about organizations: ``org create``, ``invite``, ``join`` and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import argument, claims_of, note_user, opened
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.views.kinds import MemberRole

if TYPE_CHECKING:
    from rich.console import RenderableType

    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.organizations import Organization
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

User = Annotated[
    str, typer.Option("--user", "-u", help="Slug of the user who acts.", show_default=False, callback=note_user)
]
Slug = Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Slug of an organization of the user.")]
MemberSlug = Annotated[str, typer.Argument(metavar="MEMBER", help="Slug of a member.")]
Role = Annotated[MemberRole, typer.Option(help="The rights of the member.")]
_COMMAND = "cli"


@commands.command("adopt")
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


def _organization(installation: Installation, claims: Claims, slug: str) -> Organization:
    from neurigraph_pipelines.exchange.organizations import membership

    for one in membership.list_organizations(installation.database, claims):
        if one.slug == slug:
            return one
    raise NotFoundError(f"the user is in no organization {argument(slug)!r}")


def _line(one: Organization) -> str:
    return f"{one.slug}  {one.name}  {one.role}, {counted(one.members, 'member')}"


def _lines(*texts: str) -> RenderableType:
    from neurigraph_pipelines.faces.cli import views

    return views.lines(*texts)
