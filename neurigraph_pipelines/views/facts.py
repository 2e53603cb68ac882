"""Facts, the places that state them, their versions, and beliefs in them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import (
    FactKind,
    FactStatus,
    Impact,
    ReceivedThrough,
    Role,
    SourceKind,
    StatedAs,
)
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.scalars import UserJson


class Fact(View):
    """One statement that a memory makes, with where it was said."""

    COLUMNS = ("fact_id", "kind", "statement", "status", "occurred_from", "record_id")

    fact_id: UUID
    statement: str
    kind: FactKind
    stated_as: StatedAs = Field(description="Said as so, supposed or concluded, or noticed in passing.")
    who: list[str] = Field(description="The people that it is about.")
    where: str | None
    why: str | None
    how: str | None
    subject: str | None = Field(description="With `predicate` and `object`: its statement in three parts, if any.")
    predicate: str | None
    object: str | None
    occurred_from: datetime | None = Field(description="When it happened or will happen; null if unknown.")
    occurred_until: datetime | None = Field(description="The first moment after that.")
    expires_at: datetime | None = Field(description="When it no longer matters, such as a day after a plan.")
    confidence: float = Field(description="From 0 to 1, how certainly the messages say so.")
    importance: float = Field(description="From 0 to 1.")
    impact: Impact
    record_id: UUID
    node_id: UUID
    node_path: str
    source_kind: SourceKind
    source_id: UUID
    first_message: int = Field(description="The first message that says it; `open` shows it.")
    last_message: int
    author: str | None = Field(description="Who said it.")
    said_at: datetime = Field(description="When its memory was said or made.")
    received_through: ReceivedThrough | None = Field(
        description="The door through which its source came; null for callers who do not see the source."
    )
    seq: int = Field(description="Its place among the facts of its memory.")
    extractor: str = Field(description="The language model that read it.")
    recorded_at: datetime
    updated_at: datetime
    confirmed_at: datetime | None = Field(description="When somebody confirmed it last.")
    valid_until: datetime | None = Field(description="When it stopped being true, if somebody said so.")
    status: FactStatus
    superseded: bool = Field(description="Whether a later version, or a newer memory, replaces it.")
    superseded_by: UUID | None = Field(description="The later version that replaces it, if you see one.")
    superseded_at: datetime | None = Field(description="Since when that version stands.")
    disputed_by: list[UUID] = Field(description="Facts that contradict it and that you see.")
    root_id: UUID = Field(description="The first version.")
    version: int = Field(description="Counts from 1, over the versions that you see.")
    is_latest: bool
    canonical_id: UUID = Field(description="Of the facts that say the same, the one that was said first.")
    source_count: int = Field(description="How many sources that you see say the same.")
    said_count: int = Field(description="How often, as far as you see, the same is said.")
    last_said_at: datetime = Field(description="When it was said last, as far as you see.")
    pinned: bool
    tags: list[str]
    metadata: UserJson
    is_forgotten: bool = Field(description="Whether it is hidden from all but the owner, until it is erased.")
    forget_after: datetime | None
    forgotten_at: datetime | None
    forget_reason: str | None


class SaidMessage(View):
    """A message that says a fact."""

    message: int
    role: Role
    author: str | None
    occurred_at: datetime | None
    received_through: ReceivedThrough | None


class SaidIn(View):
    """A place in which a fact was said."""

    fact_id: UUID
    record_id: UUID
    file_id: UUID | None
    node_id: UUID
    source_kind: SourceKind
    source_id: UUID
    source_title: str | None
    is_private: bool
    first_message: int
    last_message: int
    author: str | None = Field(description="Who said it.")
    occurred_at: datetime | None
    received_through: ReceivedThrough | None = Field(description="The door through which the source came.")
    messages: list[SaidMessage] = Field(description="Of sources that you own or handed in; at most 32.")

    @property
    def role(self) -> Role | None:
        """The role of the first message; None if none is visible."""
        return self.messages[0].role if self.messages else None


class FactWithPlaces(Fact):
    """A fact with where it was said."""

    said_in: list[SaidIn] = Field(
        description="The places where this fact and facts of the same words were said, the earliest first."
    )


class FoundFact(Fact):
    """A fact that matches the question."""

    score: float

    @classmethod
    def of(cls, fact: Fact, score: float) -> Self:
        """Return a fact with its score."""
        return cls.model_construct(**{**dict(fact), "score": round(score, 6)})


class StatedFact(View):
    """A fact that waits until its note is stored and read."""

    fact_id: UUID
    note_id: UUID
    created: bool = Field(description="False if the same was stated already.")
    follows: UUID | None = Field(description="The fact that it is the next version of.")


class FactChange(View):
    """A change of a fact after it was read or stated."""

    fact_id: UUID
    changed_at: datetime
    operation: str = Field(description="`change`, `confirm`, `retract`, `restore` or `forget`.")
    before: UserJson
    after: UserJson
    authored_by: str


class FactHistory(View):
    """The versions of a fact, and their changes."""

    versions: list[Fact] = Field(description="The first version first.")
    changes: list[FactChange] = Field(description="Newest first; third parties see none.")


class Facts(View):
    """A page of facts, newest first."""

    facts: list[Fact]
    next_cursor: str | None = NEXT_CURSOR


class InferredLink(View):
    """A link between two facts that was inferred."""

    from_fact_id: UUID
    to_fact_id: UUID
    relation: Literal["contradicts", "elaborates", "supports", "depends_on"]
    confidence: float
    reason: str


class FactConflict(View):
    """A fact of a memory and a known fact that cannot both stand as they are, or say the same."""

    fact_id: UUID
    existing_fact_id: UUID
    type: Literal["contradiction", "update", "duplicate"]
    suggested_action: Literal["supersede", "merge", "flag", "ignore"]
    confidence: float
    reason: str
    effect: Literal["supersedes", "disputes", "flagged", "none"] = Field(description="The automatic effect.")


class BroughtFacts(Facts):
    """A page of the facts of a memory, and their effect on known facts."""

    created: list[UUID] = Field(description="The facts of this page that nothing said before.")
    inferred_links: list[InferredLink] = Field(description="At most 200, with the conflicts.")
    conflicts: list[FactConflict]


class ConflictingBelief(View):
    """A fact that conflicts with facts that are believed now."""

    fact_id: UUID
    statement: str
    said_at: datetime
    relationship: Literal["superseded", "contradicts", "disputed"]
    resolution: str | None = Field(description="How the conflict was resolved; null if it was not.")
    reason: str
    confidence: float


class Belief(View):
    """The current version of a fact, how far it is believed, and the facts that conflict with it."""

    fact_id: UUID
    current_belief: Fact = Field(description="The fact itself, or the one that superseded it last.")
    conflicting_beliefs: list[ConflictingBelief] = Field(description="Of the conflicts that you see.")
    confidence: float = Field(description="How certainly the messages state the current one.")
    belief: float | None = Field(
        description="How far it is believed, with all that speaks for and against it. Null for all but the owner."
    )
    needs_review: bool = Field(description="Whether a conflict waits for a person.")


class UndoneDecision(View):
    """A decision about two facts that was taken back."""

    later_fact_id: UUID
    earlier_fact_id: UUID
    effect: Literal["supersedes", "disputes", "flagged"] = Field(
        description="The effect: the later fact superseded the earlier one, they disputed each other, or it waited."
    )


class UndoneDecisions(View):
    """The decisions that were taken back."""

    undone: list[UndoneDecision]
