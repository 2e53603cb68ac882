"""Messages to store, and sources of all kinds; all other answers are views."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from neurigraph_pipelines.views import sources

State = Literal["open", "waiting", "storing", "stored", "failed"]
Kind = Literal["conversation", "event", "upload", "note"]
Privacy = Literal["shared", "private"]


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


Given = Message | Mapping[str, object] | str
"""A message to store: a text alone is the user's."""


class Source(sources.Source):
    """A source: a conversation, event, upload or note, with its state and the memories made from it.

    Attributes:
        id: Its id, whatever it is; so is ``source_id``.
        record_ids: The memories that it became; empty in lists.
    """

    id: UUID = Field(validation_alias=AliasChoices("conversation_id", "event_id", "upload_id", "note_id"))
    record_ids: list[UUID] = Field(default_factory=list)

    @property
    def source_id(self) -> UUID:
        """The id of the conversation, event, upload or note."""
        return self.id
