"""The command that sets a password, which it asks for: ``account password``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, claims_of, opened

commands = typer.Typer()


@commands.command("password")
def password(
    user: UserSlug,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it: only keys open the page then.")] = False,
    as_json: Json = False,
) -> None:
    """Set the password that opens the page; asks for it, or reads a line of standard input."""
    entered = None if remove else _entered()
    with opened() as installation:
        accounts.set_password(installation.database, claims_of(installation, user), entered)
    text = "The password is removed." if remove else "The password is set; sign-ins with another one have ended."
    Output(as_json).result({"has_password": not remove}, lambda: text)


def _entered() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
