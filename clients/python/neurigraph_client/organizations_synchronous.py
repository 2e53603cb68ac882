"""Waiting calls about organizations. Written by docs/generate.py from ``organizations_asynchronous``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from neurigraph_client.calls_synchronous import Calls
from neurigraph_pipelines.views.erasures import Erasure
from neurigraph_pipelines.views.organizations import (
    Departure,
    InvitationWithCode,
    Member,
    Members,
    Organization,
    OrganizationWithKey,
)
from neurigraph_pipelines.views.organizations import Organizations as OrganizationList


class Organizations(Calls):
    """Creates organizations, and manages their members and invitations. Values are as in the API."""

    def create_organization(self, slug: str, name: str, **metadata: Any) -> OrganizationWithKey:
        """Create an organization and return it with the caller's ``api_key`` for it, which is not shown again."""
        body = {"slug": slug, "name": name, "metadata": metadata}
        return OrganizationWithKey.model_validate(self.call("POST", "/v1/organizations", body))

    def organizations(self) -> list[Organization]:
        """Return the caller's organizations, by slug."""
        return OrganizationList.model_validate(self.call("GET", "/v1/organizations")).organizations

    def change_organization(self, organization_id: UUID, **fields: Any) -> Organization:
        """Change the ``name`` or the ``metadata`` of an organization."""
        return Organization.model_validate(self.call("PATCH", f"/v1/organizations/{organization_id}", fields))

    def members(self, organization_id: UUID) -> list[Member]:
        """Return the members of an organization, the first to join first."""
        return Members.model_validate(self.call("GET", f"/v1/organizations/{organization_id}/members")).members

    def change_member(self, organization_id: UUID, member_id: UUID, role: str) -> Member:
        """Give a member another role: ``owner``, ``admin`` or ``member``."""
        path = f"/v1/organizations/{organization_id}/members/{member_id}"
        return Member.model_validate(self.call("PATCH", path, {"role": role}))

    def remove_member(self, organization_id: UUID, member_id: UUID, *, forget: bool = False) -> list[Erasure]:
        """Remove a member, or leave, and return the receipts of erasures.

        Args:
            forget: Also erase what the member shared; only when the caller leaves.
        """
        path = f"/v1/organizations/{organization_id}/members/{member_id}"
        return Departure.model_validate(self.call("DELETE", path, forget=forget)).forgotten

    def invite(self, organization_id: UUID, role: str = "member", **fields: Any) -> InvitationWithCode:
        """Create an invitation and return it with its ``code``, which is not shown again.

        Args:
            fields: As the API takes them: ``label``, ``invitee_id`` and ``hours``.
        """
        body = {"role": role, **fields}
        path = f"/v1/organizations/{organization_id}/invitations"
        return InvitationWithCode.model_validate(self.call("POST", path, body))

    def accept_invitation(self, code: str) -> OrganizationWithKey:
        """Become a member and return the organization with an ``api_key`` for it, which is not shown again."""
        return OrganizationWithKey.model_validate(self.call("POST", "/v1/invitations/accept", {"code": code}))
