"""The answers of the API, as typed values. Fields that a newer server adds stay readable as attributes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from neurigraph_pipelines.views import sources
from neurigraph_pipelines.views.facts import FoundFact

State = Literal["open", "waiting", "storing", "stored", "failed"]
Kind = Literal["conversation", "event", "upload", "note"]
Privacy = Literal["shared", "private"]
Tier = Literal["short", "mid", "long"]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Message(BaseModel):
    """A message to store; its fields are those of the HTTP API."""

    model_config = ConfigDict(extra="forbid")

    content: str | None = None
    role: Literal["user", "assistant", "system", "tool"] | None = None
    type: Literal["user", "assistant", "tool_use", "tool_result", "error"] | None = None
    author: str | None = None
    external_id: str | None = None
    occurred_at: datetime | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    input: Any = None
    output: Any = None
    error: str | None = None
    duration_ms: int | None = None


class Source(sources.Source):
    """A source: a conversation, event, upload or note, with its state and the memories made from it.

    Attributes:
        id: Its id, whatever it is; so is ``source_id``.
        record_ids: The memories that it became; empty in lists, as is ``etag``.
    """

    id: UUID
    record_ids: list[UUID] = Field(default_factory=list)
    etag: str | None = None

    @property
    def source_id(self) -> UUID:
        """The id of the conversation, event, upload or note."""
        return self.id


class Hit(_Answer):
    """A memory that a search found, or what was handed in and is not ``stored`` yet: that has no record and no node."""

    record_id: UUID | None
    source_id: UUID
    stored: bool = True
    node_id: UUID | None
    node_path: str | None
    title: str
    summary: str
    score: float
    occurred_at: datetime
    file_id: UUID | None
    origin: dict[str, Any]


class MessageHit(_Answer):
    """A message that a search found; ``seq`` is its number in its source.

    One that is not stored yet has its content.
    """

    record_id: UUID | None
    source_id: UUID | None = None
    stored: bool = True
    content: str | None = None
    seq: int
    score: float
    external_id: str | None
    section: str | None = None
    author: str | None


class SearchResult(_Answer):
    """The result of a search: memories, single messages and, with ``include=["facts"]``, facts, each best first."""

    hits: list[Hit]
    messages: list[MessageHit]
    notes: list[str]
    facts: list[FoundFact] | None = None
    rationale: dict[str, Any] | None = None


class Duplicates(_Answer):
    """Facts and messages that say the same as a text; facts in the same words have a ``score`` of 1."""

    facts: list[FoundFact]
    messages: list[MessageHit]
    threshold: float


class Citation(_Answer):
    """A message that an answer rests on."""

    number: int
    record_id: UUID | None
    stored: bool = True
    node_path: str | None
    title: str
    section: str | None = None
    author: str | None
    occurred_at: datetime
    text: str
    origin: dict[str, Any] = {}


class Reply(_Answer):
    """An answer in words; ``found`` is False if no memory answers the question."""

    answer: str
    found: bool
    citations: list[Citation]
    notes: list[str]


class Record(_Answer):
    """A memory."""

    record_id: UUID
    title: str
    summary: str
    content_type: str
    entities: list[str]
    topics: list[str]
    dates: list[str]
    relationships: list[str]
    occurred_at: datetime
    created_at: datetime
    node_id: UUID | None = None
    node_path: str | None = None
    file_id: UUID | None = None
    file_state: str | None = None
    superseded_by: UUID | None = None
    source: sources.Provenance | None = None
    etag: str | None = None


class Node(_Answer):
    """A node of the graph."""

    node_id: UUID
    name: str
    path: str
    kind: str
    state: str
    summary: str | None = None
    record_count: int
    language: str | None = None
    parent_node_id: UUID | None = None
    profile: dict[str, Any] | None = None
    etag: str | None = None


class Digest(_Answer):
    """What several memories say, in a few sentences; ``days`` is None of one that names its memories."""

    digest_id: UUID
    node_id: UUID | None = None
    days: int | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    covers: str
    title: str
    text: str
    records: int
    facts: int
    made_by: str
    made_at: datetime
    derived_from: list[UUID]
