"""The claims of a caller."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Claims:
    """The caller, as the database sees it."""

    sub: str
    role: str
    user_id: UUID

    @classmethod
    def of_user(cls, user_id: UUID) -> Claims:
        """Return the claims of the owner of a graph."""
        return cls(sub=str(user_id), role="user", user_id=user_id)
