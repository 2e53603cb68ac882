"""Waiting calls about organizations. Written by docs/generate.py from ``organizations_asynchronous``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from uuid import UUID


class Organizations(ABC):
    """Creates organizations, and manages their members and invitations. Values are those of the API."""

    @abstractmethod
    def call(self, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Any:
        """Make a call of the API and return its JSON."""

    def create_organization(self, slug: str, name: str, **metadata: Any) -> dict[str, Any]:
        """Create an organization and return it with the caller's ``api_key`` for it, which is not shown again."""
        body = {"slug": slug, "name": name, "metadata": metadata}
        made: dict[str, Any] = self.call("POST", "/v1/organizations", body)
        return made

    def organizations(self) -> list[dict[str, Any]]:
        """Return the caller's organizations, by slug."""
        found: list[dict[str, Any]] = (self.call("GET", "/v1/organizations"))["organizations"]
        return found

    def change_organization(self, organization_id: UUID, **fields: Any) -> dict[str, Any]:
        """Change the ``name`` or the ``metadata`` of an organization."""
        changed: dict[str, Any] = self.call("PATCH", f"/v1/organizations/{organization_id}", fields)
        return changed

    def members(self, organization_id: UUID) -> list[dict[str, Any]]:
        """Return the members of an organization, the first to join first."""
        found: list[dict[str, Any]] = (self.call("GET", f"/v1/organizations/{organization_id}/members"))["members"]
        return found

    def change_member(self, organization_id: UUID, member_id: UUID, role: str) -> dict[str, Any]:
        """Give a member another role: ``owner``, ``admin`` or ``member``."""
        path = f"/v1/organizations/{organization_id}/members/{member_id}"
        changed: dict[str, Any] = self.call("PATCH", path, {"role": role})
        return changed

    def remove_member(self, organization_id: UUID, member_id: UUID, *, forget: bool = False) -> list[dict[str, Any]]:
        """Remove a member, or leave, and return the receipts of what was erased.

        Args:
            forget: Also erase what the member shared; only when the caller leaves.
        """
        path = f"/v1/organizations/{organization_id}/members/{member_id}"
        receipts: list[dict[str, Any]] = (self.call("DELETE", path, forget=forget))["forgotten"]
        return receipts

    def invite(self, organization_id: UUID, role: str = "member", **fields: Any) -> dict[str, Any]:
        """Create an invitation and return it with its ``code``, which is not shown again.

        Args:
            fields: As the API takes them: ``label``, ``invitee_id`` and ``hours``.
        """
        body = {"role": role, **fields}
        made: dict[str, Any] = self.call("POST", f"/v1/organizations/{organization_id}/invitations", body)
        return made

    def accept_invitation(self, code: str) -> dict[str, Any]:
        """Become a member and return the organization with an ``api_key`` for it, which is not shown again."""
        joined: dict[str, Any] = self.call("POST", "/v1/invitations/accept", {"code": code})
        return joined
