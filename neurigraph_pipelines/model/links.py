"""Links: typed relations between memories, with who says so and how sure it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self
from uuid import UUID

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.kinds import Detector, EndKind

MAX_REASON = 500
"""Most characters of a reason."""

MAX_LINK_MESSAGES = 32
"""Most messages that show a link."""

SUPERSEDES = "supersedes"
"""The relation between versions; it is shown and never stored."""

_RELATION = re.compile(r"[a-z][a-z0-9_]{0,59}")


def require_relation(name: str) -> None:
    """Require the name of a relation: one of ``relation_types``, or one of the user's own.

    Raises:
        InvalidInputError: It is no name.
    """
    if _RELATION.fullmatch(name) is None:
        raise InvalidInputError(
            f"{name[:60]!r} names no relation: use 1 to 60 of the characters a-z, 0-9 and _, beginning with a letter"
        )


def own_words(relation: str, is_forward: bool) -> str:
    """Return a relation of the user's own in words, as read from one of its ends."""
    return f"{'' if is_forward else '← '}{relation.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """A fact, a record, a node or a source."""

    kind: EndKind
    id: UUID

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def fact(cls, fact_id: UUID) -> Self:
        """Return the end that is a fact."""
        return cls(EndKind.FACT, fact_id)

    @classmethod
    def record(cls, record_id: UUID) -> Self:
        """Return the end that is a record."""
        return cls(EndKind.RECORD, record_id)


@dataclass(frozen=True, slots=True)
class StatedLink:
    """A link that a rule or a model found, or that a person states.

    Attributes:
        start: A fact or a record.
        relation: A name of ``relation_types``, or one of the user's own; ``led_to`` is stored as ``caused_by`` from the
            other end.
        observed_by: The author: ``rule:NAME``, ``model:NAME``, or a caller; empty until a caller states the link.
        reason: Why, in one sentence.
        messages: Numbers of the messages of the start's record that show it.
        valid_from: When the relation began to hold in the world.
        valid_until: When it ended.
    """

    start: LinkEnd
    end: LinkEnd
    relation: str
    observed_by: str = ""
    detected_by: Detector = Detector.PERSON
    confidence: float = 1.0
    strength: float = 1.0
    reason: str | None = None
    messages: tuple[int, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def stored(self) -> StatedLink:
        """Return the link as it is stored: an effect names its cause."""
        if self.relation != "led_to":
            return self
        return replace(self, start=self.end, end=self.start, relation="caused_by", messages=())
