"""Keys and grants that the owner of a graph issues and revokes. Personas are created in ``nodes``."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.exchange import grant_previews, sharing
from neurigraph_pipelines.faces.api import access_forms
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.views import access as views

router = APIRouter(tags=["access"], responses=documented(401, 403, 404, 422, 503))

_All = Annotated[bool, Query(alias="all", description="Include expired and revoked ones.")]


@router.post("/keys", status_code=201, responses=documented(413))
def issue_key(body: access_forms.NewKey, caller: Owner, installation: InstallationDep) -> views.IssuedKey:
    """Issue a key for the user, a persona or a third party."""
    look(installation, caller, persona_id=body.persona_id)
    key, secret = sharing.issue_key(
        installation.database,
        caller,
        subject=body.subject,
        label=body.label,
        expires_at=body.expires_at,
        container_tags=body.container_tags,
    )
    return views.IssuedKey(**dict(key), api_key=secret)


@router.get("/keys")
def list_keys(
    caller: Owner,
    installation: InstallationDep,
    all_of_them: _All = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Keys:
    """List the keys of the graph without their secrets, newest first."""
    found = sharing.page_of_keys(
        installation.database, installation.cursors, caller, with_ended=all_of_them, limit=limit, cursor=cursor
    )
    return found.into(views.Keys)


@router.post("/keys/{key_id}/rotate", status_code=201, responses=documented(413))
def rotate_key(
    key_id: UUID, caller: Owner, installation: InstallationDep, body: access_forms.KeyRotation | None = None
) -> views.IssuedKey:
    """Issue a key that replaces another. The old key stays valid for `grace_seconds`."""
    grace = body.grace_seconds if body is not None else 0.0
    key, secret = sharing.rotate_key(installation.database, caller, key_id, grace_seconds=grace)
    return views.IssuedKey(**dict(key), api_key=secret)


@router.delete("/keys/{key_id}")
def revoke_key(key_id: UUID, caller: Owner, installation: InstallationDep) -> views.Key:
    """Revoke a key, which is rejected from the next call on. Revoking it again changes nothing."""
    return sharing.revoke_key(installation.database, caller, key_id)


@router.post(
    "/grants",
    status_code=201,
    responses={200: {"model": views.Grant, "description": "The grant exists already."}, **documented(413)},
)
def grant(body: access_forms.NewGrant, response: Response, caller: Owner, installation: InstallationDep) -> views.Grant:
    """Grant a persona or a third party access to exactly one node."""
    assert body.subject is not None, "NewGrant requires a subject"
    look(installation, caller, persona_id=body.persona_id, node_id=body.node_id)
    granted, created = sharing.grant(
        installation.database, caller, body.subject, body.node_id, body.grant_type, expires_at=body.expires_at
    )
    if not created:
        response.status_code = 200
    return granted


@router.get("/grants")
def list_grants(
    caller: Owner,
    installation: InstallationDep,
    node_id: UUID | None = None,
    all_of_them: _All = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Grants:
    """List the grants of the graph or of one node, newest first."""
    found = sharing.page_of_grants(
        installation.database,
        installation.cursors,
        caller,
        node_id=node_id,
        with_ended=all_of_them,
        limit=limit,
        cursor=cursor,
    )
    return found.into(views.Grants)


@router.get("/grants/preview")
def preview_grant(node_id: UUID, caller: Owner, installation: InstallationDep) -> views.GrantPreview:
    """Return the memories that a grant on a node would open, and those of them that look foreign to it."""
    return grant_previews.preview_grant(installation.database, caller, node_id)


@router.delete("/grants/{grant_id}")
def revoke(grant_id: UUID, caller: Owner, installation: InstallationDep) -> views.Grant:
    """Revoke a grant, which ends with the next statement. Revoking it again changes nothing."""
    return sharing.revoke(installation.database, caller, grant_id)
