"""Roles in organizations."""

from __future__ import annotations

from enum import StrEnum


class MemberRole(StrEnum):
    """What a member of an organization may do."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
