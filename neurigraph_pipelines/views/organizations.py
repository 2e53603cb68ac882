"""Organizations, their members and invitations."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview, ErasureWithObjects
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.scalars import UserJson


class Organization(View):
    """A graph that several users share."""

    organization_id: UUID = Field(description="Also the id of its graph.")
    slug: str
    name: str
    metadata: UserJson = Field(description="Texts, numbers and booleans by name.")
    created_at: datetime
    role: MemberRole = Field(description="The caller's.")
    member_count: int = Field(description="How many there are.")


class OrganizationWithKey(Organization):
    """An organization, with a key of the caller for it."""

    api_key: str = Field(description="The secret. It is shown only here.")


class Organizations(View):
    """The organizations of the caller."""

    organizations: list[Organization]


class Member(View):
    """A user who shares the graph."""

    member_id: UUID
    slug: str
    role: MemberRole
    joined_at: datetime


class Members(View):
    """The members of an organization."""

    members: list[Member]


class MemberKey(View):
    """A key of a membership."""

    api_key: str = Field(description="The secret. It is shown only here.")


class Departure(View):
    """The things that were erased with a member."""

    forgotten: list[Erasure] = Field(description="Receipts of the erased records.")


class Deleted(View):
    """The counts of things that the deletion of an organization erases, or the receipt."""

    preview: ErasurePreview | None
    receipt: ErasureWithObjects | None


class Invitation(View):
    """An invitation, without its code."""

    invitation_id: UUID
    role: MemberRole
    label: str
    created_by: UUID
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: UUID | None
    revoked_at: datetime | None


class InvitationWithCode(Invitation):
    """An invitation that was just created."""

    code: str = Field(description="The secret. It is shown only here, and works once.")


class Invitations(View):
    """The newest 1,000 invitations of an organization."""

    invitations: list[Invitation]
