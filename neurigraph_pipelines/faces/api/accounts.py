"""Accounts: the profiles that users state, and signing in with a password."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.access.accounts import MAX_EMAIL, MAX_NAME, MAX_PASSWORD, MIN_PASSWORD
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations.forms import Form
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import access as views
from neurigraph_pipelines.views.scalars import Scalar

SIGN_IN_BYTES = 16 * 1024
"""Longest body of a sign-in: the longest name and password, with every character escaped."""

router = APIRouter(tags=["users"], responses=documented(401, 403, 413, 422, 503))


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


class SignIn(Form):
    """A name and a password."""

    user: str = Field(max_length=MAX_NAME, description="The slug of the user.")
    password: str = Field(max_length=MAX_PASSWORD)


@router.get("/account")
def get_account(caller: Caller, installation: InstallationDep) -> views.Account:
    """Return the profile that the user states."""
    return accounts.get_account(installation.database, caller)


@router.patch("/account")
def change_account(body: ChangeAccount, caller: Caller, installation: InstallationDep) -> views.Account:
    """Change the stated profile. Only the user sees it."""
    return accounts.change_account(installation.database, caller, body.model_dump(exclude_unset=True))


@router.put("/account/password", status_code=204)
def set_password(body: NewPassword, caller: Caller, installation: InstallationDep) -> None:
    """Set the password that opens the page. All who signed in with the old one are signed out."""
    accounts.set_password(installation.database, caller, body.password)


@router.delete("/account/password", status_code=204)
def remove_password(caller: Caller, installation: InstallationDep) -> None:
    """Remove the password. Only keys open the page then."""
    accounts.set_password(installation.database, caller, None)


@router.post("/sign-in", status_code=201)
def sign_in(body: SignIn, installation: InstallationDep) -> views.SignedIn:
    """Exchange a name and a password for a key that expires after twelve hours.

    Ten wrong passwords within a quarter of an hour close a name until it is over.
    """
    here = installation.databases.of_sign_in(body.user)
    return accounts.sign_in(here.database, here.secret, body.user, body.password)
