"""Response models of facts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.model import ReceivedThrough, Role, SourceKind
from neurigraph_pipelines.model.facts import FactKind, FactStatus, Impact, StatedAs


class Fact(BaseModel):
    """One statement that a memory makes, with where it was said."""

    fact_id: UUID
    statement: str
    kind: FactKind
    stated_as: StatedAs = Field(description="Said as so, supposed or concluded, or noticed in passing.")
    who: list[str] = Field(description="The people that it is about.")
    where: str | None
    why: str | None
    how: str | None
    subject: str | None = Field(description="With `predicate` and `object`: what it says of whom, if it has that form.")
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
    superseded_by: UUID | None = Field(description="The later version that replaces it, of those that you see.")
    superseded_at: datetime | None = Field(description="Since when that version stands.")
    root_id: UUID = Field(description="The first version.")
    version: int = Field(description="Counts from 1, over the versions that you see.")
    is_latest: bool
    canonical_id: UUID = Field(description="Of the facts that say the same, the one that was said first.")
    source_count: int = Field(description="How many sources, of those that you see, say the same.")
    pinned: bool
    tags: list[str]
    metadata: dict[str, Any]
    is_forgotten: bool = Field(description="Whether it is hidden from all but the owner, until it is erased.")
    forget_after: datetime | None
    forgotten_at: datetime | None
    forget_reason: str | None


class SaidMessage(BaseModel):
    """A message that says a fact."""

    message: int
    role: Role
    author: str | None
    occurred_at: datetime | None
    received_through: ReceivedThrough | None


class SaidIn(BaseModel):
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


class FactWithEvidence(Fact):
    """A fact with where it was said."""

    said_in: list[SaidIn] = Field(
        description="Where this fact and those that say the same were said, the earliest first."
    )


class StatedFact(BaseModel):
    """A fact that waits until its note is stored and read."""

    fact_id: UUID
    note_id: UUID
    created: bool = Field(description="False if the same was stated already.")
    follows: UUID | None = Field(description="The fact that it is the next version of.")


class FactChange(BaseModel):
    """A change of a fact after it was read or stated."""

    fact_id: UUID
    changed_at: datetime
    operation: str = Field(description="`change`, `confirm`, `retract`, `restore` or `forget`.")
    before: dict[str, Any]
    after: dict[str, Any]
    authored_by: str


class FactHistory(BaseModel):
    """The versions of a fact, and their changes."""

    versions: list[Fact] = Field(description="The first version first.")
    changes: list[FactChange] = Field(description="Newest first; third parties see none.")


class Facts(BaseModel):
    """A page of facts, newest first."""

    facts: list[Fact]
    next_cursor: str | None = NEXT_CURSOR
