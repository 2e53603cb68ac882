"""Commands about organizations that follow from no operation: ``org leave`` and ``org adopt``."""

from __future__ import annotations

from typing import Annotated

import typer

from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.resolving import resolved
from neurigraph_pipelines.faces.cli.result_layouts import shown
from neurigraph_pipelines.faces.cli.session import UserSlug, claims_of, opened, option, positional
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.organizations import organization as found
from neurigraph_pipelines.faces.operations.organizations import remove_member

commands = typer.Typer()

_Organization = Annotated[str, positional("Slug of an organization.", "ORGANIZATION")]
_Forget = Annotated[bool, option("Erase your shared sources, or leave them there.", "--forget/--keep")]


@commands.command("leave")
def leave(organization: _Organization, user: UserSlug, forget: _Forget = False) -> None:
    """Leave an organization. Your private sources there are erased."""
    with opened() as installation:
        call = Call(installation, claims_of(installation, user), "cli")
        left = remove_member(call, resolved(call, "organization", organization, {}), call.caller.user_id, forget)
    output.result(left, lambda: shown(left, ""))


@commands.command("adopt")
def adopt(organization: _Organization, user: UserSlug) -> None:
    """Make a user the owner of an organization that has none, such as a restored one."""
    with opened() as installation:
        graph = claims_of(installation, organization, whole_graph=True).user_id
        call = Call(installation, claims_of(installation, user), "cli")
        membership.adopt(installation.database, graph, call.caller.user_id)
        adopted = found(call, resolved(call, "organization", organization, {}))
    output.result(adopted, lambda: shown(adopted, ""))
