"""Files: their states, their log, and single messages read from them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import CompressionCause, CompressionState, MessageType, Role, Voice
from neurigraph_pipelines.views.scalars import UserJson

HISTORY_SHOWN = 20
"""Most entries of a file's state history."""


class StateChange(View):
    """One entry of a file's state history."""

    event: Literal["compressed", "decompressed", "recompressed", "rehydrating", "failed"]
    triggered_by: CompressionCause
    occurred_at: datetime
    error: str | None = Field(description="The reason of a failure.")


class File(View):
    """The state of a file."""

    file_id: UUID
    record_id: UUID
    node_id: UUID
    name: str
    type: str
    state: CompressionState
    compression: str
    size_bytes: int = Field(description="Size of the content, uncompressed.")
    stored_bytes: int = Field(description="Size of the durable object.")
    last_accessed_at: datetime
    recompress_at: datetime | None = Field(
        description="Time at which the file becomes dormant again, if opening it made it active."
    )
    last_failure: str | None = Field(
        description="The reason why the file could not be read the last time, if it failed."
    )
    history: list[StateChange] = Field(description=f"State history, newest first; at most {HISTORY_SHOWN} entries.")


class Rehydrating(View):
    """The file is being decompressed; `Retry-After` says when to ask again."""

    file_id: UUID
    state: Literal[CompressionState.REHYDRATING]


class NodeFiles(View):
    """The states of a node's files. The node is `rehydrating` if any file is, else `active` if any file is."""

    node_id: UUID
    state: CompressionState
    last_accessed_at: datetime
    next_recompress_at: datetime | None = Field(description="Earliest time at which one of its files becomes dormant.")
    active_files: int
    rehydrating_files: int
    dormant_files: int
    content_bytes: int = Field(description="Size of all contents, uncompressed.")
    active_bytes: int = Field(description="Bytes that active files occupy, working copies included.")
    dormant_bytes: int = Field(description="Bytes that all other files occupy.")
    saved_bytes: int = Field(description="Size of all contents less the bytes that are occupied.")


class Message(View):
    """One message of a file, or one that is not stored yet."""

    file_id: UUID | None = Field(description="Null for a message that is not stored yet.")
    seq: int
    role: Role = Field(description="The role that the writer stated.")
    author: str | None = Field(description="Who said it: a persona is shown as the persona, whatever author it stated.")
    voice: Voice = Field(description="Who speaks, as the server knows it.")
    external_id: str | None
    occurred_at: datetime
    content: str
    tool_calls: list[UserJson] = Field(description="Calls of tools within the message, as they were sent.")
    type: MessageType | None = Field(description="Null for instructions of the system.")
    tool_name: str | None = Field(description="Of an event of a tool, like the next five fields.")
    tool_use_id: str | None
    input: Any = Field(description="The arguments of the call of the tool.")
    output: Any = Field(description="The result of the tool.")
    error: str | None = Field(description="Why it failed.")
    duration_ms: int | None


class UnstoredMessages(View):
    """The messages of a conversation, event, upload or note that are not stored yet."""

    source_id: UUID
    messages: list[Message] = Field(description="In their order; empty once all are stored.")
    record_ids: list[UUID] = Field(description="The visible memories that the others became, oldest first.")
