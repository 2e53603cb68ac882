"""Commands about the account of a user: ``account show``, ``change`` and ``password``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, opened
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import keep_exactly

if TYPE_CHECKING:
    from neurigraph_pipelines.views.access import Account
    from neurigraph_pipelines.views.scalars import UserJson

commands = typer.Typer()
_account = typer.Typer(no_args_is_help=True, help="Show and change a user's profile, and the password of the page.")
commands.add_typer(_account, name="account")


@_account.command("show")
def show(user: UserSlug, as_json: Json = False) -> None:
    """Show the name, the address and the metadata of a user."""
    from neurigraph_pipelines.access import accounts

    with opened() as installation:
        found = accounts.get_account(installation.database, claims_of(installation, user))
    _print(found, as_json)


@_account.command("change")
def change(
    user: UserSlug,
    display_name: Annotated[str | None, typer.Option(help="The name for people; empty removes it.")] = None,
    email: Annotated[str | None, typer.Option(help="An e-mail address; empty removes it.")] = None,
    metadata: Annotated[str | None, typer.Option(help="A flat JSON object, which replaces the one before.")] = None,
    as_json: Json = False,
) -> None:
    """Change the profile that a user states. Options that are left out change nothing."""
    from neurigraph_pipelines.access import accounts

    texts = (("display_name", display_name), ("email", email))
    changes = {name: argument(value) or None for name, value in texts if value is not None}
    stated = {} if metadata is None else {"metadata": _object(metadata)}
    with opened() as installation:
        changed = accounts.change_account(installation.database, claims_of(installation, user), {**changes, **stated})
    _print(changed, as_json)


@_account.command("password")
def password(
    user: UserSlug,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it: only keys open the page then.")] = False,
    as_json: Json = False,
) -> None:
    """Set the password that opens the page; asks for it, or reads a line of standard input."""
    from neurigraph_pipelines.access import accounts

    entered = None if remove else _entered()
    with opened() as installation:
        accounts.set_password(installation.database, claims_of(installation, user), entered)
    text = "The password is removed." if remove else "The password is set; sign-ins with another one have ended."
    Output(as_json).result({"has_password": not remove}, lambda: text)


def _entered() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")


def _object(text: str) -> UserJson:
    try:
        found = json.loads(keep_exactly(text.encode("utf-8", "surrogatepass"), names_twice=False))
    except ValueError as error:
        raise InvalidInputError(f"--metadata is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInputError('--metadata is a JSON object, such as \'{"team": "harbour"}\'')
    return found


def _print(account: Account, as_json: bool) -> None:
    from neurigraph_pipelines.faces.cli import views

    Output(as_json).result(account, lambda: views.fields(dict(account)))
