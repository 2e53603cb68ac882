"""Keys and grants that the owner of a graph issues and revokes. Personas are created in ``nodes``."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.exchange import grant_previews, sharing
from neurigraph_pipelines.faces.operations import access_forms
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph import personas
from neurigraph_pipelines.views import access as views

operation = OperationGroup("access")

_All = Annotated[bool, Field(alias="all", description="Include expired and revoked ones.")]


@operation("POST /keys", "access key add", status=201, who=Who.OWNER)
def issue_key(call: Call, body: access_forms.NewKey) -> views.IssuedKey:
    """Issue a key for the user, a persona or a third party."""
    key, secret = call.do(
        sharing.issue_key,
        subject=body.subject,
        label=body.label,
        expires_at=body.expires_at,
        container_tags=body.container_tags,
    )
    return views.IssuedKey(**dict(key), api_key=secret)


@operation("GET /keys", "access key list", who=Who.OWNER)
def list_keys(call: Call, all_of_them: _All = False, limit: Limit = 50, cursor: Cursor = None) -> views.Keys:
    """List the keys of the graph without their secrets, newest first."""
    return call.page(views.Keys, sharing.page_of_keys, with_ended=all_of_them, limit=limit, cursor=cursor)


@operation("POST /keys/{key_id}/rotate", "access key rotate", status=201, who=Who.OWNER)
def rotate_key(call: Call, key_id: UUID, body: access_forms.KeyRotation | None = None) -> views.IssuedKey:
    """Issue a key that replaces another. The old key stays valid for `grace_seconds`."""
    grace = body.grace_seconds if body is not None else 0.0
    key, secret = call.do(sharing.rotate_key, key_id, grace_seconds=grace)
    return views.IssuedKey(**dict(key), api_key=secret)


@operation("DELETE /keys/{key_id}", "access key remove", who=Who.OWNER)
def revoke_key(call: Call, key_id: UUID) -> views.Key:
    """Revoke a key, which is rejected from the next call on. Revoking it again changes nothing."""
    return call.do(sharing.revoke_key, key_id)


@operation("GET /personas", "access persona list")
def list_personas(call: Call) -> views.Personas:
    """List the personas of the graph, by path."""
    return views.Personas(personas=call.do(personas.list_personas))


@operation(
    "POST /grants",
    "access add",
    status=201,
    who=Who.OWNER,
    answers={200: {"model": views.Grant, "description": "The grant exists already."}},
)
def grant(call: Call, body: access_forms.NewGrant) -> views.Grant:
    """Grant a persona or a third party access to exactly one node."""
    assert body.subject is not None, "NewGrant requires a subject"
    granted, created = call.do(sharing.grant, body.subject, body.node_id, body.grant_type, expires_at=body.expires_at)
    if not created:
        call.told.status = 200
    return granted


@operation("GET /grants", "access list", who=Who.OWNER)
def list_grants(
    call: Call, node_id: UUID | None = None, all_of_them: _All = False, limit: Limit = 50, cursor: Cursor = None
) -> views.Grants:
    """List the grants of the graph or of one node, newest first."""
    return call.page(
        views.Grants, sharing.page_of_grants, node_id=node_id, with_ended=all_of_them, limit=limit, cursor=cursor
    )


@operation("GET /grants/preview", "access preview", who=Who.OWNER)
def preview_grant(call: Call, node_id: UUID) -> views.GrantPreview:
    """Return the memories that a grant on a node would open, and which of them look foreign to it."""
    return grant_previews.preview_grant(call.context, node_id)


@operation("DELETE /grants/{grant_id}", "access remove", who=Who.OWNER)
def revoke(call: Call, grant_id: UUID) -> views.Grant:
    """Revoke a grant, which ends with the next statement. Revoking it again changes nothing."""
    return call.do(sharing.revoke, grant_id)
