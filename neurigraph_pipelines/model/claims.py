"""The claims of a caller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID

from neurigraph_pipelines.views.kinds import ReceivedThrough

BOUND = "bound"
"""The role of callers that act for the owner of a graph within some of its spaces."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The caller, as the database sees it.

    What a caller may see does not depend on its key or door: claims that differ only there are equal, and share caches.

    Attributes:
        role: ``user``, ``bound``, ``member``, ``persona`` or ``third_party``.
        key_id: The API key that was used; None for the command line and for tokens.
        received_through: The door that the call came through.
        container_tags: The spaces that the caller is limited to, in alphabetical order; None is no limit.
    """

    sub: str
    role: str
    user_id: UUID
    key_id: UUID | None = field(default=None, compare=False)
    received_through: ReceivedThrough = field(default=ReceivedThrough.API, compare=False)
    container_tags: tuple[str, ...] | None = None

    @classmethod
    def of_user(cls, user_id: UUID, received_through: ReceivedThrough = ReceivedThrough.API) -> Claims:
        """Return the claims of the owner of a graph."""
        return cls(sub=str(user_id), role="user", user_id=user_id, received_through=received_through)

    @classmethod
    def of_author(cls, user_id: UUID, member_id: UUID | None, received_through: ReceivedThrough) -> Claims:
        """Return the claims of who handed something in: a member of an organization, or the owner of a graph."""
        if member_id is None:
            return cls.of_user(user_id, received_through)
        return cls(sub=str(member_id), role="member", user_id=user_id, received_through=received_through)

    @property
    def member_id(self) -> UUID | None:
        """The member of an organization; None for all other callers."""
        return UUID(self.sub) if self.role == "member" else None

    @property
    def acts_for_owner(self) -> bool:
        """Whether the caller is the owner of the graph, perhaps limited to spaces."""
        return self.role in ("user", BOUND)

    def through(self, door: ReceivedThrough) -> Claims:
        """Return these claims for a call through another door."""
        return replace(self, received_through=door)

    def within(self, container_tags: Iterable[str] | None) -> Claims:
        """Return these claims limited to some spaces as well; None or no tags add no limit.

        A filter by space is such a limit: its answer is that of a key which is bound to the spaces.
        """
        named = frozenset(container_tags or ())
        if not named:
            return self
        allowed = named if self.container_tags is None else named & frozenset(self.container_tags)
        role = BOUND if self.role == "user" else self.role
        return replace(self, role=role, container_tags=tuple(sorted(allowed)))
