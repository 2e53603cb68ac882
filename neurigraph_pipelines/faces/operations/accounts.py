"""Users: who there is, the profiles that they state, and their passwords."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.access.accounts import MAX_EMAIL, MAX_NAME, MAX_PASSWORD, MIN_PASSWORD
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph.identity import identity_of
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import access as views
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.scalars import Scalar

operation = OperationGroup("users")


class NewUser(Form):
    """A user to create."""

    slug: str = Field(
        description="1 to 63 characters of `a-z 0-9 _ -`, with a letter or digit at both ends.",
        json_schema_extra={"maxLength": 63},
    )
    database: str | None = Field(
        default=None,
        json_schema_extra={"maxLength": 63},
        description="Name of one of several databases (docs/scaling.md). Default: the one with the fewest users.",
    )


class ChangeAccount(Form):
    """Changes of an account. Fields that are left out stay, and null removes a field."""

    display_name: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_NAME})
    email: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_EMAIL})
    metadata: dict[str, Scalar] | None = Field(
        default=None,
        max_length=MAX_METADATA_KEYS,
        description="Texts, numbers and booleans by name, at most 16 KiB as JSON.",
    )


class NewPassword(Form):
    """A password to set."""

    password: str = Field(json_schema_extra={"minLength": MIN_PASSWORD, "maxLength": MAX_PASSWORD})


@operation("GET /users", "user list", who=Who.OPERATOR)
def list_users(call: Call) -> views.Users:
    """List the users of the installation by name, each with the database that they live in."""
    found = call.installation.databases.users()
    return views.Users(users=[views.User(**asdict(one), database=name) for name, one in found])


@operation("POST /users", "user add", who=Who.OPERATOR, status=201, refusals=(409,))
def create_user(call: Call, body: NewUser) -> views.CreatedUser:
    """Create a user, the root node of their graph and a first API key. The key is shown only here."""
    name, made, key = call.installation.databases.create_user(body.slug, body.database)
    return views.CreatedUser(**asdict(made), database=name, api_key=key)


@operation("GET /identity", tool="who_am_i")
def get_identity(call: Call) -> views.Identity:
    """Say for whom you act, what you see and what you may change."""
    return call.do(identity_of)


@operation("GET /account", "user show")
def get_account(call: Call) -> views.Account:
    """Return the profile that the user states."""
    return call.do(accounts.get_account)


@operation("PATCH /account", "user edit")
def change_account(call: Call, body: ChangeAccount) -> views.Account:
    """Change the stated profile. Only the user sees it."""
    return call.do(accounts.change_account, body.model_dump(exclude_unset=True))


@operation("PUT /account/password", status=204)
def set_password(call: Call, body: NewPassword) -> None:
    """Set the password that opens the page. All who signed in with the old one are signed out."""
    call.do(accounts.set_password, body.password)


@operation("DELETE /account/password", status=204)
def remove_password(call: Call) -> None:
    """Remove the password. Only keys open the page then."""
    call.do(accounts.set_password, None)
