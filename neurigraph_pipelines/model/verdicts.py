"""Verdicts: the relations of a later fact to an earlier one, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from neurigraph_pipelines.model.facts import Slot
from neurigraph_pipelines.views.kinds import FactKind, Verdict

MAX_REASON = 300
"""Most characters of the reason for a verdict."""


class Authority(IntEnum):
    """How far the way in which a fact came about speaks for it."""

    OBSERVATION = 0
    INFERENCE = 1
    ASSISTANT = 2
    DOCUMENT = 3
    STATEMENT = 4
    BY_HAND = 5


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a judge sees it.

    Attributes:
        said_at: When it happened, or else when it was said: its place in the world's order.
        is_ambiguous: Whether its subject is a name that several people have.
        is_own: Whether the owner said it, without a name: it is about the owner.
        message: The first message of its record that says it.
        is_kept: Whether somebody pinned it: nothing automatic supersedes it.
    """

    fact_id: UUID
    record_id: UUID
    statement: str
    kind: FactKind
    confidence: float
    authority: Authority
    said_at: datetime
    slot: Slot | None = None
    who: tuple[str, ...] = ()
    why: str | None = None
    is_ambiguous: bool = False
    is_kept: bool = False
    is_own: bool = False
    message: int = 0

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Its place in the world's order, which is the same whichever of two facts arrived first.

        Of facts of one day, what a later message says comes later.
        """
        return self.said_at, self.message, str(self.fact_id)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts to judge, in the world's order."""

    later: KnownFact
    earlier: KnownFact


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on a pair, with the confidence in it, from 0 to 1, and the reason for it."""

    verdict: Verdict
    confidence: float
    reason: str


UNRELATED = Judgement(Verdict.UNRELATED, 0.6, "they speak of different things")
