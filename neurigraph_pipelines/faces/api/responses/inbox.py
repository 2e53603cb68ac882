"""Response bodies of the inbox: conversations, events, notes, uploads and failures."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.faces.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.faces.api.source_fields import ShownDetails
from neurigraph_pipelines.ingestion.failures import ReplayOutcome
from neurigraph_pipelines.model import EventKind, Privacy, Progress, ReceivedThrough, SourceKind, TriggerType


class Conversation(BaseModel):
    """A conversation of the inbox."""

    conversation_id: UUID


class Appended(BaseModel):
    """Counts of the messages that were appended, recognised, replaced and repaired."""

    added: int = Field(description="Number of new messages.")
    known: int = Field(description="Number of messages that were already there, word for word.")
    conflicts: list[str] = Field(
        description="External ids that already exist with another text; the existing text stays."
    )
    replaced: int = Field(description="Number of newest, incomplete messages that this request replaced.")
    repaired: int = Field(
        description="Number of messages with text that no database can store; U+FFFD replaces that text."
    )
    tokens: int = Field(description="Number of tokens by which the conversation or event grew.")
    redacted: dict[str, int] = Field(
        description="Number of redactions by kind (`email`, `phone`, `card`, `key`), if redaction on write is on."
    )


class Ended(BaseModel):
    """A conversation that has ended."""

    conversation_id: UUID
    ended_at: datetime


class Event(BaseModel):
    """An event of the inbox."""

    event_id: UUID
    messages: Appended | None = Field(default=None, description="Result of appending the messages, if any were sent.")


class EventEnded(BaseModel):
    """An event that has ended."""

    event_id: UUID
    ended_at: datetime


class Note(BaseModel):
    """A note that waits for its memory, or that was there already."""

    note_id: UUID
    version: int = Field(description="Counts from 1.")
    created: bool = Field(description="False: the same note was there already, and nothing was written.")
    node_id: UUID | None = Field(description="The node that it is pinned to.")
    replaces: UUID | None = Field(
        description="The note whose memory this one supersedes once it is stored; for a later version, the note itself."
    )
    redacted: dict[str, int] = Field(description="Number of redactions by kind, if redaction on write is on.")


class Uploaded(BaseModel):
    """A file that was received."""

    upload_id: UUID
    notes: list[str] = Field(
        default_factory=list,
        description="Of a file that was there already, how it differs from what was asked. None of a new one, which is "
        "read in the background: `GET /v1/uploads/{upload_id}` has its notes.",
    )


class Source(ShownDetails):
    """What conversations, events, uploads and notes have in common."""

    external_id: str
    title: str | None
    state: Progress = Field(
        description="`open`: more may arrive. `waiting`: it has ended and waits for a run. `storing`: a run stores it. "
        "`stored`: all of it can be found. `failed`: `error` gives the reason, and replaying `failure_id` retries it."
    )
    error: str | None = Field(description="The reason of a failure.")
    failure_id: UUID | None = Field(description="See `GET /v1/failures`.")
    privacy: Privacy
    persona_id: UUID | None = Field(description="The persona that handed it in; null is the owner.")
    member_id: UUID | None = Field(description="The member of an organization that handed it in.")
    message_count: int
    started_at: datetime
    ended_at: datetime | None
    received_at: datetime
    received_through: ReceivedThrough | None = Field(description="The door that it came through.")


class ListedConversation(Source):
    """A conversation and how far it is."""

    conversation_id: UUID


class ListedEvent(Source):
    """An event and how far it is."""

    event_id: UUID
    kind: EventKind


class Rejected(BaseModel):
    """An item of an export that was not added, and why."""

    where: str
    reason: str


class Imported(BaseModel):
    """What was read of an export of conversations."""

    format: str = Field(description="Such as `chatgpt`, `mail` or `slack`.")
    conversations: int = Field(description="Those in the file; `GET /v1/conversations?upload_id=` lists them.")
    conversations_added: int = Field(description="Those that were new.")
    messages_added: int
    messages_known: int = Field(description="Messages that were there already.")
    rejected_count: int
    rejected: list[Rejected] = Field(description="The first 20 of them.")
    notes: list[str] = Field(default_factory=list, description="What was assumed, left out or not read.")


class ListedUpload(Source):
    """An uploaded file and how far it is. It is never `open`; sending a failed one again retries it."""

    upload_id: UUID
    file_name: str
    media_type: str = Field(description="Detected from the content, not from the name.")
    size_bytes: int
    sha256: str
    file_id: UUID | None = Field(description="The id to open the file by, once it is stored.")
    imported: Imported | None = Field(
        description="Set if it was an export of conversations or of notes: these are stored, and not the file."
    )
    notes: list[str] = Field(description="What was assumed, left out or not read of it.")


class ListedNote(Source):
    """A note and how far it is."""

    note_id: UUID


_RECORD_IDS = Field(description="The memories that it became so far, oldest first; those that the caller may see.")


class ConversationState(ListedConversation):
    """A conversation, how far it is, and what it became."""

    record_ids: list[UUID] = _RECORD_IDS


class EventState(ListedEvent):
    """An event, how far it is, and what it became."""

    record_ids: list[UUID] = _RECORD_IDS


class Upload(ListedUpload):
    """An uploaded file, how far it is, and what it became."""

    record_ids: list[UUID] = _RECORD_IDS


class NoteState(ListedNote):
    """A note, how far it is, and what its versions became."""

    record_ids: list[UUID] = _RECORD_IDS


class Notes(BaseModel):
    """A page of notes, those received last first."""

    notes: list[ListedNote]
    next_cursor: str | None = NEXT_CURSOR


class Conversations(BaseModel):
    """A page of conversations, those received last first."""

    conversations: list[ListedConversation]
    next_cursor: str | None = NEXT_CURSOR


class Events(BaseModel):
    """A page of events, those received last first."""

    events: list[ListedEvent]
    next_cursor: str | None = NEXT_CURSOR


class Uploads(BaseModel):
    """A page of uploads, those received last first."""

    uploads: list[ListedUpload]
    next_cursor: str | None = NEXT_CURSOR


class Failure(BaseModel):
    """A segment that could not be stored, or an upload that could not be read, after its last attempt."""

    failure_id: UUID
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    file_name: str | None = Field(description="For an upload.")
    trigger_type: TriggerType | None = Field(description="For a segment. Null for an upload, as the next three fields.")
    first_message: int | None = Field(description="Number of the segment's first message in its source.")
    last_message: int | None
    token_count: int | None
    state: str = Field(description="`failed`, or the state of the segment or upload after a replay.")
    step: str = Field(description="The step that failed.")
    error: str
    attempts: int
    occurred_at: datetime
    replayed_at: datetime | None


class Failures(BaseModel):
    """A page of failures, newest first."""

    failures: list[Failure]
    next_cursor: str | None = NEXT_CURSOR


class Replay(BaseModel):
    """The outcome of a replay. `stored_meanwhile`: the segment was stored or the upload read, so nothing was done."""

    failure_id: UUID
    outcome: ReplayOutcome
