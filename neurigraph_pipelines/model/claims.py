"""The claims of a caller."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

from neurigraph_pipelines.model.origin import ReceivedThrough


@dataclass(frozen=True, slots=True)
class Claims:
    """The caller, as the database sees it.

    What a caller may see does not depend on its key or door: claims that differ only there are equal, and share caches.

    Attributes:
        key_id: The API key that was used; None for the command line and for tokens.
        received_through: The door that the call came through.
    """

    sub: str
    role: str
    user_id: UUID
    key_id: UUID | None = field(default=None, compare=False)
    received_through: ReceivedThrough = field(default=ReceivedThrough.API, compare=False)

    @classmethod
    def of_user(cls, user_id: UUID, received_through: ReceivedThrough = ReceivedThrough.API) -> Claims:
        """Return the claims of the owner of a graph."""
        return cls(sub=str(user_id), role="user", user_id=user_id, received_through=received_through)

    def through(self, door: ReceivedThrough) -> Claims:
        """Return these claims for a call through another door."""
        return replace(self, received_through=door)
