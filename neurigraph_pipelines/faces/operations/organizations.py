"""Organizations: graphs that several users share, their members, and invitations.

Callers are users with a key of their own graph, or members with a key of the organization's.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from neurigraph_pipelines.exchange.organizations import deletion, invitations, membership
from neurigraph_pipelines.exchange.organizations.invitations import DEFAULT_HOURS, MAX_HOURS
from neurigraph_pipelines.exchange.organizations.membership import MAX_NAME
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.erasures import ACCEPTED, DryRun
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.lifecycle.erasure import receipts
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import organizations as views
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.scalars import Scalar

_METADATA = "Texts, numbers and booleans by name, at most 16 KiB as JSON."
_LABEL: JsonDict = {"maxLength": MAX_NAME}

operation = OperationGroup("organizations")


class NewOrganization(Form):
    """An organization to create."""

    slug: str = Field(description="Its name on the command line: 1 to 63 of `a-z 0-9 _ -`, not taken by any user.")
    name: str | None = Field(default=None, json_schema_extra=_LABEL, description="Default: the slug.")
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
    bool, Field(description="Forget the shared memories of the member, too. Only for the caller's own membership.")
]


@operation("POST /organizations", "access org add", status=201, refusals=(409,))
def create_organization(call: Call, body: NewOrganization) -> views.OrganizationWithKey:
    """Create an organization that the caller owns. The answer has a key of the caller for it, shown only here."""
    made, key = call.do(
        membership.create,
        body.slug,
        body.name or body.slug,
        body.metadata,
        opaque_schema_names=call.installation.settings.opaque_schema_names,
    )
    return views.OrganizationWithKey(**dict(made), api_key=key)


@operation("GET /organizations", "access org list")
def list_organizations(call: Call) -> views.Organizations:
    """List the organizations of the caller, by slug."""
    return views.Organizations(organizations=call.do(membership.list_organizations))


@operation("GET /organizations/{organization_id}", "access org show")
def organization(call: Call, organization_id: UUID) -> views.Organization:
    """Return an organization of the caller."""
    return call.do(membership.get_organization, organization_id)


@operation("PATCH /organizations/{organization_id}", "access org edit")
def change_organization(call: Call, organization_id: UUID, body: ChangeOrganization) -> views.Organization:
    """Change the name or the metadata of an organization, as its owner or admin."""
    return call.do(membership.change, organization_id, name=body.name, metadata=body.metadata)


@operation(
    "DELETE /organizations/{organization_id}",
    "access org remove",
    destroys=True,
    refusals=(409,),
    answers={202: {**ACCEPTED[202], "model": views.Deleted}},
)
def delete_organization(call: Call, organization_id: UUID, dry_run: DryRun = False) -> views.Deleted:
    """Erase an organization with its graph, permanently, as its owner."""
    if dry_run:
        found = call.do(deletion.preview_organization, organization_id)
        return views.Deleted(preview=found, receipt=None)
    receipt = deletion.delete_organization(call.context, organization_id, through=call.door)
    if receipt.finished_at is None:
        call.told.status = 202
    return views.Deleted(preview=None, receipt=receipts.with_objects(call.database, receipt))


@operation("GET /organizations/{organization_id}/members", "access org member list")
def list_members(call: Call, organization_id: UUID) -> views.Members:
    """List the members of an organization, the first to join first."""
    found = call.do(membership.list_members, organization_id)
    return views.Members(members=found)


@operation("PATCH /organizations/{organization_id}/members/{member_id}", "access org member edit", refusals=(409,))
def change_member(call: Call, organization_id: UUID, member_id: UUID, body: ChangeMember) -> views.Member:
    """Give a member another role, as an owner. There is always an owner."""
    return call.do(membership.change_role, organization_id, member_id, body.role)


@operation("DELETE /organizations/{organization_id}/members/{member_id}", "access org member remove", refusals=(409,))
def remove_member(call: Call, organization_id: UUID, member_id: UUID, forget: _Forget = False) -> views.Departure:
    """Leave an organization, or remove a member. Access ends at once, and the member's private sources are erased."""
    done = membership.end_membership(call.context, organization_id, member_id, forget=forget, through=call.door)
    return views.Departure(forgotten=done)


@operation("POST /organizations/{organization_id}/keys", "access org key add", status=201)
def issue_member_key(call: Call, organization_id: UUID, body: NewMemberKey) -> views.MemberKey:
    """Issue another key of the caller's own membership. It is shown only here."""
    key = call.do(membership.issue_key, organization_id, body.label)
    return views.MemberKey(api_key=key)


@operation(
    "POST /organizations/{organization_id}/invitations",
    "access org invitation add",
    status=201,
    refusals=(409,),
    options={"label": "--for"},
)
def invite(call: Call, organization_id: UUID, body: NewInvitation) -> views.InvitationWithCode:
    """Create an invitation: an admin for members, an owner for any role. The code is shown only here."""
    made, code = call.do(
        invitations.invite, organization_id, body.role, label=body.label, invitee_id=body.invitee_id, hours=body.hours
    )
    return views.InvitationWithCode(**dict(made), code=code)


@operation("GET /organizations/{organization_id}/invitations", "access org invitation list")
def list_invitations(
    call: Call,
    organization_id: UUID,
    all_of_them: Annotated[bool, Field(alias="all", description="Include used, expired and revoked ones.")] = False,
) -> views.Invitations:
    """List the invitations of an organization, newest first. Members see none."""
    found = call.do(invitations.list_invitations, organization_id, with_ended=all_of_them)
    return views.Invitations(invitations=found)


@operation("DELETE /organizations/{organization_id}/invitations/{invitation_id}", "access org invitation remove")
def revoke_invitation(call: Call, organization_id: UUID, invitation_id: UUID) -> views.Invitation:
    """Revoke an invitation. Revoking it again changes nothing."""
    return call.do(invitations.revoke_invitation, organization_id, invitation_id)


@operation("POST /invitations/accept", "access org join", status=201)
def accept_invitation(call: Call, body: Acceptance) -> views.OrganizationWithKey:
    """Become a member with the code of an invitation. The answer has a key for the organization, shown only here."""
    joined, key = call.do(invitations.accept, body.code, label=body.label)
    return views.OrganizationWithKey(**dict(joined), api_key=key)
