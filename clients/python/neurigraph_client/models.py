"""Messages to store, and things that carry an ``etag``; all other answers are views."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from neurigraph_pipelines.views import sources
from neurigraph_pipelines.views.graph import Shell
from neurigraph_pipelines.views.memories import Memory

State = Literal["open", "waiting", "storing", "stored", "failed"]
Kind = Literal["conversation", "event", "upload", "note"]
Privacy = Literal["shared", "private"]
Tier = Literal["short", "mid", "long"]


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

    id: UUID = Field(validation_alias=AliasChoices("conversation_id", "event_id", "upload_id", "note_id"))
    record_ids: list[UUID] = Field(default_factory=list)
    etag: str | None = None

    @property
    def source_id(self) -> UUID:
        """The id of the conversation, event, upload or note."""
        return self.id


class Record(Memory):
    """A memory."""

    etag: str | None = None


class Node(Shell):
    """A node of the graph."""

    etag: str | None = None
