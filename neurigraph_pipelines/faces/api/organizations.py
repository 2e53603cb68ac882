"""Organizations: graphs that several users share, their members, and invitations.

Callers are users with a key of their own graph, or members with a key of the organization's.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field
from pydantic.config import JsonDict

from neurigraph_pipelines.exchange.organizations import deletion, invitations, membership
from neurigraph_pipelines.exchange.organizations.invitations import DEFAULT_HOURS, MAX_HOURS
from neurigraph_pipelines.exchange.organizations.membership import MAX_NAME
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.erasures import ACCEPTED, DryRun
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.lifecycle.erasure import receipts
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import organizations as views
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.scalars import Scalar

_METADATA = "Texts, numbers and booleans by name, at most 16 KiB as JSON."
_LABEL: JsonDict = {"maxLength": MAX_NAME}

router = APIRouter(tags=["organizations"], responses=documented(401, 403, 404, 422, 503))


class NewOrganization(Form):
    """An organization to create."""

    slug: str = Field(description="Its name on the command line: 1 to 63 of `a-z 0-9 _ -`, not taken by any user.")
    name: str = Field(json_schema_extra=_LABEL)
    metadata: dict[str, Scalar] = Field(default_factory=dict, max_length=MAX_METADATA_KEYS, description=_METADATA)


class ChangeOrganization(Form):
    """Changes of an organization. Fields that are left out stay."""

    name: str | None = Field(default=None, json_schema_extra=_LABEL)
    metadata: dict[str, Scalar] | None = Field(default=None, max_length=MAX_METADATA_KEYS, description=_METADATA)


class ChangeMember(Form):
    """A member's new role."""

    role: MemberRole


class NewInvitation(Form):
    """An invitation to create."""

    role: MemberRole = MemberRole.MEMBER
    label: str = Field(default="", json_schema_extra=_LABEL, description="Whom it is for, such as an e-mail address.")
    invitee_id: UUID | None = Field(default=None, description="The only user who may use it; null for anybody.")
    hours: float = Field(default=DEFAULT_HOURS, gt=0, le=MAX_HOURS, description="For how long it is valid.")


class Acceptance(Form):
    """The code of an invitation."""

    code: str = Field(min_length=1, max_length=200)
    label: str = Field(default="", json_schema_extra=_LABEL, description="Of the key.")


class NewMemberKey(Form):
    """A key to issue."""

    label: str = Field(default="", json_schema_extra=_LABEL)


_Forget = Annotated[
    bool, Query(description="Forget the shared memories of the member, too. Only for the caller's own membership.")
]


@router.post(
    "/organizations",
    status_code=201,
    responses=documented(409, 413),
)
def create_organization(
    body: NewOrganization, caller: Caller, installation: InstallationDep
) -> views.OrganizationWithKey:
    """Create an organization that the caller owns. The answer has a key of the caller for it, shown only here."""
    made, key = membership.create(
        installation.database,
        caller,
        body.slug,
        body.name,
        body.metadata,
        opaque_schema_names=installation.settings.opaque_schema_names,
    )
    return views.OrganizationWithKey(**dict(made), api_key=key)


@router.get("/organizations")
def list_organizations(caller: Caller, installation: InstallationDep) -> views.Organizations:
    """List the organizations of the caller, by slug."""
    return views.Organizations(organizations=membership.list_organizations(installation.database, caller))


@router.get("/organizations/{organization_id}")
def organization(organization_id: UUID, caller: Caller, installation: InstallationDep) -> views.Organization:
    """Return an organization of the caller."""
    return membership.get_organization(installation.database, caller, organization_id)


@router.patch("/organizations/{organization_id}", responses=documented(413))
def change_organization(
    organization_id: UUID, body: ChangeOrganization, caller: Caller, installation: InstallationDep
) -> views.Organization:
    """Change the name or the metadata of an organization, as its owner or admin."""
    return membership.change(installation.database, caller, organization_id, name=body.name, metadata=body.metadata)


@router.delete(
    "/organizations/{organization_id}",
    responses=documented(409) | {202: {**ACCEPTED[202], "model": views.Deleted}},
)
def delete_organization(
    organization_id: UUID, caller: Caller, installation: InstallationDep, response: Response, dry_run: DryRun = False
) -> views.Deleted:
    """Erase an organization with its graph, permanently, as its owner."""
    if dry_run:
        found = deletion.preview_organization(installation.database, caller, organization_id)
        return views.Deleted(preview=found, receipt=None)
    receipt = deletion.delete_organization(installation.acting_for(caller), organization_id, through="api")
    if receipt.finished_at is None:
        response.status_code = 202
    return views.Deleted(preview=None, receipt=receipts.with_objects(installation.database, receipt))


@router.get("/organizations/{organization_id}/members")
def list_members(organization_id: UUID, caller: Caller, installation: InstallationDep) -> views.Members:
    """List the members of an organization, the first to join first."""
    found = membership.list_members(installation.database, caller, organization_id)
    return views.Members(members=found)


@router.patch(
    "/organizations/{organization_id}/members/{member_id}",
    responses=documented(409, 413),
)
def change_member(
    organization_id: UUID, member_id: UUID, body: ChangeMember, caller: Caller, installation: InstallationDep
) -> views.Member:
    """Give a member another role, as an owner. There is always an owner."""
    return membership.change_role(installation.database, caller, organization_id, member_id, body.role)


@router.delete(
    "/organizations/{organization_id}/members/{member_id}",
    responses=documented(409),
)
def remove_member(
    organization_id: UUID,
    member_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    forget: _Forget = False,
) -> views.Departure:
    """Leave an organization, or remove a member. Access ends at once, and the member's private sources are erased."""
    done = membership.end_membership(
        installation.acting_for(caller), organization_id, member_id, forget=forget, through="api"
    )
    return views.Departure(forgotten=done)


@router.post(
    "/organizations/{organization_id}/keys",
    status_code=201,
    responses=documented(413),
)
def issue_member_key(
    organization_id: UUID, body: NewMemberKey, caller: Caller, installation: InstallationDep
) -> views.MemberKey:
    """Issue another key of the caller's own membership. It is shown only here."""
    key = membership.issue_key(installation.database, caller, organization_id, body.label)
    return views.MemberKey(api_key=key)


@router.post(
    "/organizations/{organization_id}/invitations",
    status_code=201,
    responses=documented(409, 413),
)
def invite(
    organization_id: UUID, body: NewInvitation, caller: Caller, installation: InstallationDep
) -> views.InvitationWithCode:
    """Create an invitation: an admin for members, an owner for any role. The code is shown only here."""
    made, code = invitations.invite(
        installation.database,
        caller,
        organization_id,
        body.role,
        label=body.label,
        invitee_id=body.invitee_id,
        hours=body.hours,
    )
    return views.InvitationWithCode(**dict(made), code=code)


@router.get("/organizations/{organization_id}/invitations")
def list_invitations(
    organization_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    all_of_them: Annotated[bool, Query(alias="all", description="Include used, expired and revoked ones.")] = False,
) -> views.Invitations:
    """List the invitations of an organization, newest first. Members see none."""
    found = invitations.list_invitations(installation.database, caller, organization_id, with_ended=all_of_them)
    return views.Invitations(invitations=found)


@router.delete("/organizations/{organization_id}/invitations/{invitation_id}")
def revoke_invitation(
    organization_id: UUID, invitation_id: UUID, caller: Caller, installation: InstallationDep
) -> views.Invitation:
    """Revoke an invitation. Revoking it again changes nothing."""
    return invitations.revoke_invitation(installation.database, caller, organization_id, invitation_id)


@router.post(
    "/invitations/accept",
    status_code=201,
    responses=documented(413),
)
def accept_invitation(body: Acceptance, caller: Caller, installation: InstallationDep) -> views.OrganizationWithKey:
    """Become a member with the code of an invitation. The answer has a key for the organization, shown only here."""
    joined, key = invitations.accept(installation.database, caller, body.code, label=body.label)
    return views.OrganizationWithKey(**dict(joined), api_key=key)
