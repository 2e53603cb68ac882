"""Commands of the keys that sign links: ``signing-keys list``, ``add``, ``rotate`` and ``revoke``."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import Cursor, Limit, UserSlug, argument, claims_of, opened, parse_id
from neurigraph_pipelines.model.errors import InvalidInputError

if TYPE_CHECKING:
    from neurigraph_pipelines.views.links import SigningKey

commands = typer.Typer()
_group = typer.Typer(help="List, register, rotate and revoke the public keys with which links are signed.")
commands.add_typer(_group, name="signing-keys", no_args_is_help=True)

_Key = Annotated[str, typer.Argument(metavar="KEY_ID", help="From `signing-keys list`.", show_default=False)]
_PublicKey = Annotated[
    str, typer.Argument(metavar="PUBLIC_KEY", help="32 bytes of Ed25519 in base64.", show_default=False)
]


@_group.command("list")
def list_keys(
    user: UserSlug,
    all_of_them: Annotated[bool, typer.Option("--all", help="Include rotated and revoked ones.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List public keys, newest first."""
    from neurigraph_pipelines.knowledge import signing

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        found = signing.page_of_keys(context, installation.cursors, with_ended=all_of_them, limit=limit, cursor=cursor)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        rows = [{name: str(value) for name, value in one if value} for one in found.items]
        return views.page(rows, found.next_cursor)

    Output(as_json).result(found.shown("signing_keys"), view)


@_group.command()
def add(
    public_key: _PublicKey,
    user: UserSlug,
    peer: Annotated[
        str | None, typer.Option(help="The name of another installation that signs with it.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Register a public key. The private key stays with who signs."""
    from neurigraph_pipelines.knowledge import signing

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        made = signing.register_key(context, _bytes(public_key), peer and argument(peer))
    _shown(made, as_json)


@_group.command()
def rotate(key: _Key, public_key: _PublicKey, user: UserSlug, as_json: Json = False) -> None:
    """Replace a key. Signatures of the old key still count, and the old key signs no more."""
    from neurigraph_pipelines.knowledge import signing

    key_id = parse_id(key, "key", "signing-keys list")
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        made = signing.rotate_key(context, key_id, _bytes(public_key))
    _shown(made, as_json)


@_group.command()
def revoke(key: _Key, user: UserSlug, as_json: Json = False) -> None:
    """Revoke a key: links that it signed are shown as unsigned from now on."""
    from neurigraph_pipelines.knowledge import signing

    key_id = parse_id(key, "key", "signing-keys list")
    with opened() as installation:
        revoked = signing.revoke_key(installation.acting_for(claims_of(installation, user)), key_id)
    _shown(revoked, as_json)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError("the public key is not base64") from error


def _shown(key: SigningKey, as_json: bool) -> None:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.fields({name: value for name, value in key if value is not None})

    Output(as_json).result(key, view)
