"""Creation of users, which needs the admin key."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Depends

from neurigraph_pipelines.faces.api.authentication import InstallationDep, require_administrator
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.views import access as views

router = APIRouter(tags=["users"], responses=documented(401, 403, 409, 413, 422, 503))


@router.post("/users", status_code=201, dependencies=[Depends(require_administrator)])
def create_user(body: requests.NewUser, installation: InstallationDep) -> views.CreatedUser:
    """Create a user, the root node of their graph and a first API key. The key is shown only here."""
    _, user, key = installation.databases.create_user(body.slug, body.database)
    return views.CreatedUser(**asdict(user), api_key=key)
