"""Facts: single statements that a conversation makes, with what they are about and when it happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from neurigraph_pipelines.model.content import Period

MAX_STATEMENT = 1_000
"""Most characters of a statement."""


class FactKind(StrEnum):
    """What a fact states."""

    EVENT = "event"
    STATE = "state"
    PREFERENCE = "preference"
    PLAN = "plan"
    DECISION = "decision"
    COMMITMENT = "commitment"
    RELATION = "relation"
    QUANTITY = "quantity"
    OTHER = "other"


class StatedAs(StrEnum):
    """How sure its speaker was: said as so, concluded or supposed, or noticed in passing."""

    STATEMENT = "statement"
    INFERENCE = "inference"
    OBSERVATION = "observation"


class Impact(StrEnum):
    """How long a fact matters: for good, for about a year, or for about a season."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Slot:
    """The subject, predicate and object of a fact: ``Ana``, ``works at``, ``Lumen Press``."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that can be understood alone: names instead of pronouns, absolute dates, all figures.

    Attributes:
        statement: One sentence of at most ``MAX_STATEMENT`` characters.
        first_message: Number of the first message that states it.
        last_message: Number of the last one.
        author: Who said it, as the message has it.
        who: The people that it is about.
        slot: What it says of whom, if it has that form.
        occurred: When it happened or will happen; its length is its precision.
        expires_at: When it no longer matters, such as a day after a plan.
        confidence: From 0 to 1, how certainly the text says so.
        importance: From 0 to 1.
    """

    statement: str
    first_message: int
    last_message: int
    author: str | None
    kind: FactKind
    stated_as: StatedAs
    who: tuple[str, ...] = ()
    where: str | None = None
    why: str | None = None
    how: str | None = None
    slot: Slot | None = None
    occurred: Period | None = None
    expires_at: datetime | None = None
    confidence: float = 0.6
    importance: float = 0.5
    impact: Impact = Impact.MEDIUM
