"""Response models of facts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.model.facts import FactKind, Impact, StatedAs


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
    seq: int = Field(description="Its place among the facts of its memory.")
    extractor: str = Field(description="The language model that read it.")
    recorded_at: datetime
    superseded: bool = Field(description="Whether a newer memory replaces the one that says it.")


class Facts(BaseModel):
    """A page of facts, newest first."""

    facts: list[Fact]
    next_cursor: str | None = NEXT_CURSOR
