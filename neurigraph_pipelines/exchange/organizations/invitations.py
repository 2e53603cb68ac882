"""Invitations: one-time codes by which users become members of an organization.

A code has 256 random bits, is shown once and stored as its SHA-256. A code that is wrong, used, expired or revoked gets
one answer.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.access.authentication import api_key_hash, new_api_key, require_owner
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.organizations.membership import (
    MAX_NAME,
    decide,
    get_organization,
    issue_key,
    list_members,
)
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, TooOftenError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.organizations import Invitation, Organization

DEFAULT_HOURS = 24 * 7.0
MAX_HOURS = 24 * 90.0

_CODE_PREFIX = "ngi_"
_QUERIES = statements("organizations")


def invite(
    database: Database,
    claims: Claims,
    organization_id: UUID,
    role: MemberRole = MemberRole.MEMBER,
    *,
    label: str = "",
    invitee_id: UUID | None = None,
    hours: float = DEFAULT_HOURS,
) -> tuple[Invitation, str]:
    """Create an invitation: an admin for members, an owner for any role.

    Args:
        label: Whom it is for, such as an e-mail address.
        invitee_id: The only user who may use it; None for anybody who has the code.
        hours: Its lifetime.

    Returns:
        The invitation and its code, which is not shown again.

    Raises:
        NotFoundError: The caller is no member of the organization.
        ForbiddenError: The caller's role does not permit it.
        InvalidInputError: The label is too long, or the lifetime out of bounds.
        ConflictError: The organization has too many open invitations.
    """
    shown = " ".join(clean_text(label, "repair")[0].split())
    if len(shown) > MAX_NAME:
        raise InvalidInputError(f"the label of an invitation has at most {MAX_NAME} characters")
    if not 0 < hours <= MAX_HOURS:
        raise InvalidInputError(f"an invitation is valid for at most {MAX_HOURS:,.0f} hours")
    code = _CODE_PREFIX + new_api_key().partition("_")[2]
    values = {
        "organization_id": organization_id,
        "code_hash": api_key_hash(code),
        "role": role.value,
        "label": shown,
        "invitee_id": invitee_id,
        "seconds": hours * 3600,
    }
    made = decide(database, claims, _QUERIES["invite"], values)
    return _invitations(database, claims, organization_id, made["invitation_id"])[0], code


def list_invitations(
    database: Database, claims: Claims, organization_id: UUID, *, with_ended: bool = False
) -> list[Invitation]:
    """Return the newest 1,000 invitations of an organization, newest first; members see none.

    Raises:
        NotFoundError: The caller is no member of it.
    """
    list_members(database, claims, organization_id)
    return _invitations(database, claims, organization_id, None, with_ended)


def revoke_invitation(database: Database, claims: Claims, organization_id: UUID, invitation_id: UUID) -> Invitation:
    """Revoke an invitation from the next statement on. Revoking it again changes nothing.

    Raises:
        NotFoundError: There is none that the caller may know of.
        ForbiddenError: The caller is neither owner nor admin.
    """
    values = {"organization_id": organization_id, "invitation_id": invitation_id}
    decide(database, claims, _QUERIES["revoke_invitation"], values)
    return _invitations(database, claims, organization_id, invitation_id)[0]


def accept(database: Database, claims: Claims, code: str, *, label: str = "") -> tuple[Organization, str]:
    """Use a code and become a member.

    Args:
        claims: A user with a key of the own graph.
        label: Of the key.

    Returns:
        The organization, and a key of the caller for its graph, which is not shown again.

    Raises:
        ForbiddenError: The caller is not such a user.
        NotFoundError: The code is wrong, used, expired or revoked, is for somebody else, or the caller is a member.
        TooOftenError: The caller tried too many codes in vain within an hour.
    """
    require_owner(claims)
    (row,) = database.ask(claims, _QUERIES["accept_invitation"], {"code_hash": api_key_hash(code)})
    if row["outcome"] == "too_often":
        raise TooOftenError("you tried too many codes: wait an hour", retry_after=3600.0)
    if row["outcome"] is None:
        raise NotFoundError("this code opens nothing: ask for another invitation")
    key = issue_key(database, claims, row["organization_id"], label)
    return get_organization(database, claims, row["organization_id"]), key


def _invitations(
    database: Database, claims: Claims, organization_id: UUID, invitation_id: UUID | None, with_ended: bool = True
) -> list[Invitation]:
    values = {"organization_id": organization_id, "invitation_id": invitation_id, "with_ended": with_ended}
    return ask_views(database, claims, _QUERIES["invitations"], Invitation, values)
