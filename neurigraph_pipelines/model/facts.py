"""Facts: single statements that a conversation makes, with their subjects and the times of the events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from neurigraph_pipelines.model.messages import Message
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs

if TYPE_CHECKING:
    from neurigraph_pipelines.views.search import Period  # Pydantic, which commands do not wait for

THE_USER = "The user"
"""How facts call an owner who speaks without a name. Their subjects call one with the name of an account so, too."""

MAX_STATEMENT = 1_000
"""Most characters of a statement."""

MAX_SHARE = 0.2
"""Most words of all facts of a record, as a share of the record's words."""

FREE_WORDS = 150
"""Words that the facts of a short conversation or of a note may have, whatever its length."""

FREE_FACTS = 12
MAX_PER_1000_TOKENS = 12


HALF_LIVES: Mapping[Impact, float] = {Impact.HIGH: math.inf, Impact.MEDIUM: 365.0, Impact.LOW: 90.0}
"""Days in which half of a fact's weight fades."""


def remaining(impact: Impact, age_days: float) -> float:
    """Return the remaining weight of a fact, 1 to 0, so many days since it occurred, was confirmed or used."""
    return float(2.0 ** (-max(age_days, 0.0) / HALF_LIVES[impact]))


def days_until(impact: Impact, left: float) -> float:
    """Return the days after which so much is left of the weight of a fact."""
    return HALF_LIVES[impact] * -math.log2(left)


@dataclass(frozen=True, slots=True)
class Slot:
    """The subject, predicate and object of a fact: ``Ana``, ``works at``, ``Lumen Press``."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class FoundLink:
    """The relation of a fact to another one of the same reading.

    Attributes:
        relation: A name of ``relation_types``: the fact is ``caused_by`` the other one.
        statement: The other fact's.
        confidence: From 0 to 1.
    """

    relation: str
    statement: str
    confidence: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReadFact:
    """A fact as it is read in messages: a sentence that can be understood alone, with names, dates and figures.

    Attributes:
        statement: One sentence of at most ``MAX_STATEMENT`` characters.
        first_message: Number of the first message that states it.
        last_message: Number of the last one.
        author: Who said it, as the message has it.
        who: The people that it is about.
        slot: Its subject, predicate and object, if it has that form.
        occurred: When it happened or will happen; its length is its precision.
        expires_at: When it no longer matters, such as a day after a plan.
        confidence: From 0 to 1, how certainly the text says so.
        importance: From 0 to 1.
        links: Its relations to other facts, as a language model reads them.
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
    links: tuple[FoundLink, ...] = ()


def bounds_of(messages: Sequence[Message]) -> tuple[float, float]:
    """Return the most words, and the greatest number, of the facts of some messages."""
    # A stored transcript says no tokens: four characters are about one.
    tokens = sum(message.token_count or len(message.content) / 4 for message in messages)
    return bounds(sum(len(message.content.split()) for message in messages), tokens)


def bounds(words: int, tokens: float) -> tuple[float, float]:
    """Return the most words, and the greatest number, of the facts of a text of so many words and tokens."""
    return max(FREE_WORDS, MAX_SHARE * words), max(FREE_FACTS, MAX_PER_1000_TOKENS * tokens / 1_000)
