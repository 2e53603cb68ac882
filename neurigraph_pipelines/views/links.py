"""Links of facts and memories, and the keys that sign them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import Attest, Detector, EndKind, LinkVerdict
from neurigraph_pipelines.views.pages import NEXT_CURSOR


class WrittenLink(View):
    """A link that is there."""

    link_id: UUID
    created: bool = Field(description="False if you said the same already.")


class Link(View):
    """A relation from a fact or a memory to something else, with who says so."""

    COLUMNS = ("link_id", "words", "text", "confidence", "verdict", "attest", "ended_at")

    link_id: UUID | None = Field(description="Null for what versions of facts and digests say: these decide.")
    computed_from: Literal["verdict", "versions", "digest", "mentions", "times", "words", "place"] | None = Field(
        description="Null for a stored link; others are computed from a verdict on two facts, from their versions, or "
        "from a digest that covers the memory. With `computed`: from what both mention, when both happened, their "
        "words, or where the fact lies."
    )
    from_kind: Literal[EndKind.FACT, EndKind.RECORD, "digest"]
    from_id: UUID
    from_text: str | None = Field(description="The statement of a fact, or the title of a digest.")
    from_record_id: UUID | None = Field(description="The memory itself, or that of the fact; null for a digest.")
    relation: str
    to_kind: EndKind
    to_id: UUID
    to_text: str | None = Field(description="The statement of a fact, the path of a node or the title of a source.")
    to_record_id: UUID | None
    forward: str = Field(description="The relation in words, from its start: `was caused by`.")
    backward: str = Field(description="The same from its end: `led to`.")
    direction: Literal["out", "in"] = Field(description="Whether it starts at the given fact or memory.")
    bidirectional: bool = Field(description="Whether it reads the same from both ends.")
    strength: float
    confidence: float
    reason: str | None
    messages: list[int] = Field(description="The messages of `from_record_id` that show it.")
    valid_from: datetime | None = Field(description="Since when it holds; null if nobody said.")
    valid_until: datetime | None
    observed_by: str = Field(description="Who says so: `user:`, `persona:`, `peer:`, `rule:` or `model:` and a name.")
    detected_by: Detector
    attest: Attest = Field(description="Who signed it.")
    verdict: LinkVerdict = Field(description="The decision of a person about it.")
    verdict_by: str | None
    verdict_at: datetime | None
    created_at: datetime
    ended_by: str | None
    ended_at: datetime | None
    end_attest: Attest = Field(description="Who signed its ending.")

    @property
    def words(self) -> str:
        """The relation in words, from what was asked for."""
        return self.forward if self.direction == "out" else self.backward

    @property
    def kind(self) -> str:
        """The kind of its other end."""
        return self.to_kind if self.direction == "out" else self.from_kind

    @property
    def id(self) -> UUID:
        """The id of its other end."""
        return self.to_id if self.direction == "out" else self.from_id

    @property
    def text(self) -> str:
        """The text of its other end; empty without one."""
        return (self.to_text if self.direction == "out" else self.from_text) or ""


class Links(View):
    """A page of links, newest first."""

    links: list[Link]
    next_cursor: str | None = NEXT_CURSOR


class SigningKey(View):
    """A public key, and whose it is."""

    signing_key_id: UUID
    holder: str = Field(description="`user:` or `persona:` and an id, or `peer:` and a name: the observer to sign.")
    public_key: str = Field(description="Base64.")
    registered_at: datetime
    registered_by: str
    rotated_at: datetime | None = Field(description="Since then it signs no more.")
    revoked_at: datetime | None = Field(description="Its signatures do not count since then.")


class SigningKeys(View):
    """A page of keys, newest first."""

    signing_keys: list[SigningKey]
    next_cursor: str | None = NEXT_CURSOR
