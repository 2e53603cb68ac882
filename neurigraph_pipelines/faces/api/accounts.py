"""Signing in with a password."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.access.accounts import MAX_NAME, MAX_PASSWORD
from neurigraph_pipelines.faces.api.authentication import InstallationDep
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.views import access as views
from neurigraph_pipelines.views.base import Form

SIGN_IN_BYTES = 16 * 1024
"""Longest body of a sign-in: the longest name and password, with every character escaped."""

router = APIRouter(tags=["users"], responses=documented(401, 403, 413, 422, 503))


class SignIn(Form):
    """A name and a password."""

    user: str = Field(max_length=MAX_NAME, description="The slug of the user.")
    password: str = Field(max_length=MAX_PASSWORD)


@router.post("/sign-in", status_code=201)
def sign_in(body: SignIn, installation: InstallationDep) -> views.SignedIn:
    """Exchange a name and a password for a key that expires after twelve hours.

    Ten wrong passwords within a quarter of an hour close a name until it is over.
    """
    here = installation.databases.of_sign_in(body.user)
    return accounts.sign_in(here.database, here.secret, body.user, body.password)
