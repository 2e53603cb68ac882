"""Sources: conversations, events, uploads and notes, with their states and the memories made from them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import (
    Channel,
    DocumentType,
    EventKind,
    Privacy,
    Progress,
    ReceivedThrough,
    SourceKind,
)
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.scalars import UserJson

ORIGIN = "The program or site that it comes from, such as `slack`."
CHANNEL = "Who could read it where it comes from."
AUTHOR = "Who wrote it."
UPDATED_AT = "When it last changed where it comes from."


class Provenance(View):
    """Where a source comes from, as its writer stated it, and its place among its versions."""

    origin: str | None = Field(description=ORIGIN)
    document_type: DocumentType = Field(description="The type of the document.")
    url: str | None = Field(description="A page to read it at.")
    channel: Channel | None = Field(description=CHANNEL)
    author: str | None = Field(description=AUTHOR)
    metadata: UserJson = Field(description="Texts, numbers, booleans and lists of them by name.")
    version: int = Field(description="Counts from 1.")
    replaces: UUID | None = Field(description="The version before, if the caller may see it.")
    updated_at: datetime | None = Field(description=UPDATED_AT)

    @classmethod
    def of(cls, kind: str, known: Mapping[str, object] | None) -> Provenance:
        """Return the provenance of a source.

        Args:
            kind: The kind of the source, which is its type if nothing else is known.
            known: The fields of ``neurigraph.source_details``; None if the database has none.
        """
        known = {**dict.fromkeys(Provenance.model_fields), "version": 1, **(known or {})}
        usual = DocumentType.FILE if kind == "upload" else kind
        stated = {"document_type": known["document_type"] or usual, "metadata": known["metadata"] or {}}
        return Provenance.model_validate({**known, **stated})


class Source(Provenance):
    """The fields that conversations, events, uploads and notes share."""

    COLUMNS = ("source_id", "received_at", "state", "title", "external_id", "error")
    KIND: ClassVar[SourceKind]

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

    @property
    def source_id(self) -> UUID:
        """Its id, which the fields name after its kind."""
        found: UUID = getattr(self, f"{self.KIND}_id")
        return found


class ListedConversation(Source):
    """A conversation and how far it is."""

    KIND = SourceKind.CONVERSATION

    conversation_id: UUID


class ListedEvent(Source):
    """An event and how far it is."""

    KIND = SourceKind.EVENT

    event_id: UUID
    kind: EventKind


class Rejected(View):
    """An item of an export that was not added, and why."""

    where: str
    reason: str


class Imported(View):
    """The counts of an imported export of conversations."""

    format: str = Field(description="Such as `chatgpt`, `mail` or `slack`.")
    conversation_count: int = Field(description="All in the file; `GET /v1/conversations?upload_id=` lists them.")
    conversations_added: int = Field(description="The new ones among them.")
    messages_added: int
    messages_known: int = Field(description="Messages that were there already.")
    rejected_count: int
    rejected: list[Rejected] = Field(description="The first 20 of them.")
    notes: list[str] = Field(default_factory=list, description="Parts that were assumed, left out or not read.")


class ListedUpload(Source):
    """An uploaded file and how far it is. It is never `open`; sending a failed one again retries it."""

    COLUMNS = ("source_id", "received_at", "state", "file_name", "error", "notes")
    KIND = SourceKind.UPLOAD

    upload_id: UUID
    file_name: str
    media_type: str = Field(description="Detected from the content, not from the name.")
    size_bytes: int
    sha256: str
    file_id: UUID | None = Field(description="The id to open the file by, once it is stored.")
    imported: Imported | None = Field(
        description="Set if it was an export of conversations or of notes: these are stored, and not the file."
    )
    notes: list[str] = Field(description="Parts of it that were assumed, left out or not read.")


class ListedNote(Source):
    """A note and how far it is."""

    KIND = SourceKind.NOTE

    note_id: UUID


_RECORD_IDS = Field(description="The memories that it became so far and that the caller may see, oldest first.")


class ConversationState(ListedConversation):
    """A conversation, its state, and the memories made from it."""

    record_ids: list[UUID] = _RECORD_IDS


class EventState(ListedEvent):
    """An event, its state, and the memories made from it."""

    record_ids: list[UUID] = _RECORD_IDS


class Upload(ListedUpload):
    """An uploaded file, its state, and the memories made from it."""

    record_ids: list[UUID] = _RECORD_IDS


class NoteState(ListedNote):
    """A note, its state, and the memories made from its versions."""

    record_ids: list[UUID] = _RECORD_IDS


class Notes(View):
    """A page of notes, the last received first."""

    notes: list[ListedNote]
    next_cursor: str | None = NEXT_CURSOR


class Conversations(View):
    """A page of conversations, the last received first."""

    conversations: list[ListedConversation]
    next_cursor: str | None = NEXT_CURSOR


class Events(View):
    """A page of events, the last received first."""

    events: list[ListedEvent]
    next_cursor: str | None = NEXT_CURSOR


class Uploads(View):
    """A page of uploads, the last received first."""

    uploads: list[ListedUpload]
    next_cursor: str | None = NEXT_CURSOR


SourceState = ConversationState | EventState | Upload | NoteState
"""A source of any kind, its progress, and its memories."""

SourcePage = Conversations | Events | Uploads | Notes
"""A page of sources of one kind."""
