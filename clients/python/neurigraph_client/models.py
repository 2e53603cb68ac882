"""Messages to store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

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
    tool_calls: list[dict[str, Any]] | None = None
    complete: bool | None = None


Given = Message | Mapping[str, object] | str
"""A message to store: a text alone is the user's."""
