"""The inbox: conversations, events and notes are handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar
from uuid import UUID

from pydantic import Field, model_validator

from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.faces.operations.source_fields import PRIVACY, SourceFields, Where
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.model import Privacy, Progress, SourceKind
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH
from neurigraph_pipelines.views import inbox as views
from neurigraph_pipelines.views.base import Form

_Opened = TypeVar("_Opened", views.Conversation, views.Event, views.Added)

operation = OperationGroup("add", Who.WRITER)


class NewMemory(Form, SourceFields, Where):
    """A memory to add: the messages of a whole conversation, or one text."""

    messages: list[requests.NewMessage] | None = Field(
        default=None, min_length=1, max_length=requests.MAX_MESSAGES, description="A conversation from end to end."
    )
    content: str | None = Field(
        default=None,
        description="A text to remember as it is, instead of messages.",
        json_schema_extra={"minLength": 1},
    )
    title: str | None = Field(
        default=None,
        description="Default: the language model finds one.",
        json_schema_extra={"maxLength": MAX_TITLE_LENGTH},
    )
    external_id: str | None = Field(
        default=None,
        description="Your id of a conversation; messages under a known one continue it.",
        json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH},
    )
    occurred_at: datetime | None = Field(default=None, description="When it was said, or began. Default: now.")
    privacy: Privacy | None = Field(default=None, description=PRIVACY)

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if (self.messages is None) is (self.content is None):
            raise ValueError("give either messages or a content")
        if self.messages is not None and self.node_id is not None:
            raise ValueError("node_id is for a content: the messages of a conversation are filed by what they say")
        if self.content is not None and self.external_id is not None:
            raise ValueError("external_id is for messages: the same content is one note without an id")
        return self

    @property
    def started_at(self) -> datetime | None:
        """When the conversation began."""
        return self.occurred_at

    @property
    def note(self) -> IncomingNote:
        """The content as a note."""
        return IncomingNote(
            self.content or "",
            title=self.title,
            node_id=self.node_id,
            occurred_at=self.occurred_at,
            privacy=self.privacy,
            details=self.details,
        )


@operation(
    "POST /memories",
    status=201,
    refusals=(409,),
    answers={200: {"model": views.Added, "description": "It was there already, and nothing was added."}},
    notes_lag=True,
    waits=True,
)
def add_memory(call: Call, body: NewMemory) -> views.Added:
    """Add a conversation that has ended, or a note. It can be found at once, and is stored in the background.

    With a `wait` the answer has the memories that it became by then. An answer that is repeated for an
    `Idempotency-Key` is that of the moment at which it was added.
    """
    added = _write_note(call, body) if body.messages is None else _store_conversation(call, body)

    def later() -> views.Added:
        found = call.do(get_source, added.source_kind, added.source_id)
        return added.model_copy(update={"state": found.state, "record_ids": found.record_ids})

    call.told.status = 201 if added.created else 200
    call.told.headers["Location"] = f"/v1/{added.source_kind}s/{added.source_id}"
    call.told.later = added.source_id, later
    return added if added.created else later()


@operation(
    "POST /conversations",
    status=201,
    refusals=(409,),
    answers={200: {"model": views.Conversation, "description": "The conversation exists already."}},
    notes_lag=True,
)
def open_conversation(call: Call, body: requests.NewConversation) -> views.Conversation:
    """Open a conversation, or return the existing one with the same `external_id`."""
    return _open(call, SourceKind.CONVERSATION, body, lambda known, *_: views.Conversation(conversation_id=known))


@operation("POST /conversations/{conversation_id}/messages", refusals=(409,), notes_lag=True)
def append_messages(call: Call, conversation_id: UUID, body: requests.NewMessages) -> views.Appended:
    """Append messages in the order given.

    Messages can be found once they are stored, which happens when the conversation has ended or has grown long. To
    store a response while it is streaming, send the text so far with `complete` false, and send it again under the same
    `external_id` as it grows. Each time it replaces the previous text, as long as it is the newest message and not
    complete.
    """
    return _append(call, SourceKind.CONVERSATION, conversation_id, body.messages)


@operation("POST /conversations/{conversation_id}/end", refusals=(409,), notes_lag=True)
def end_conversation(call: Call, conversation_id: UUID, body: requests.End | None = None) -> views.Ended:
    """End a conversation. Ending it again changes nothing and returns the time of its first end."""
    ended_at = _end(call, SourceKind.CONVERSATION, conversation_id, body)
    return views.Ended(conversation_id=conversation_id, ended_at=ended_at)


@operation(
    "POST /events",
    status=201,
    refusals=(409,),
    answers={200: {"model": views.Event, "description": "The event exists already."}},
    notes_lag=True,
    is_sparse=True,
)
def open_event(call: Call, body: requests.NewEvent) -> views.Event:
    """Open an event, or return the existing one with the same `external_id`, and append the messages so far.

    Either everything is stored or nothing.
    """

    def opened(event_id: UUID, _: bool, appended: views.Appended | None) -> views.Event:
        return views.Event(event_id=event_id, **({"messages": appended} if appended else {}))

    return _open(call, SourceKind.EVENT, body, opened, body.messages, event_kind=body.kind)


@operation("POST /events/{event_id}/messages", refusals=(409,), notes_lag=True)
def append_to_event(call: Call, event_id: UUID, body: requests.NewEventMessages) -> views.Appended:
    """Append messages in the order given. They can be found once the event has ended and is stored."""
    return _append(call, SourceKind.EVENT, event_id, body.messages)


@operation("POST /events/{event_id}/end", refusals=(409,), notes_lag=True)
def end_event(call: Call, event_id: UUID, body: requests.End | None = None) -> views.EventEnded:
    """End an event, which is stored as one memory, whatever its length. Ending it again changes nothing."""
    return views.EventEnded(event_id=event_id, ended_at=_end(call, SourceKind.EVENT, event_id, body))


@operation(
    "POST /notes",
    "note",
    tool="remember",
    status=202,
    refusals=(409,),
    answers={200: {"model": views.Note, "description": "The same note was there already."}},
    notes_lag=True,
    options={"document_type": "--type", "metadata": "--meta"},
)
def remember(call: Call, body: requests.NewNote) -> views.Note:
    """Write a note, which is remembered as it is. It is stored in the background.

    A note that is pinned to a node lies there; others are filed by the language model. The same text again, with the
    same title, node and privacy, is the same note as long as its memory is current.
    """
    written = write_note(call.context, body.note)
    call.told.status = 202 if written.created else 200
    call.told.headers["Location"] = f"/v1/notes/{written.note_id}"
    return written


def _write_note(call: Call, body: NewMemory) -> views.Added:
    """Write the content as a note; the same note again is that note, so it needs no guard."""
    written = write_note(call.context, body.note)
    return views.Added(
        source_kind=SourceKind.NOTE,
        source_id=written.note_id,
        created=written.created,
        state=Progress.STORED if written.record_ids else Progress.WAITING,
        record_ids=list(written.record_ids),
        conflicts=[],
        redacted=written.redacted,
    )


def _store_conversation(call: Call, body: NewMemory) -> views.Added:
    """Open a conversation, append its messages and end it."""

    def added(source_id: UUID, created: bool, appended: views.Appended | None) -> views.Added:
        assert appended is not None, "the form has messages"
        return views.Added(
            source_kind=SourceKind.CONVERSATION,
            source_id=source_id,
            created=created or appended.added > 0,
            state=Progress.WAITING,
            record_ids=[],
            conflicts=appended.conflicts,
            redacted=appended.redacted,
        )

    return _open(call, SourceKind.CONVERSATION, body, added, body.messages or (), ends=True)


def _open(
    call: Call,
    kind: SourceKind,
    body: requests.NewConversation | requests.NewEvent | NewMemory,
    answered: Callable[[UUID, bool, views.Appended | None], _Opened],
    messages: Sequence[requests.NewMessage] = (),
    *,
    ends: bool = False,
    **more: Any,
) -> _Opened:
    """Open a source, append its messages so far, and end it if these are all: everything or nothing."""
    stated = {name: getattr(body, name) for name in ("external_id", "title", "started_at", "privacy", "details")}
    inbox = Inbox(call.installation.context)
    with call.database.agent(call.caller) as tx:
        call.once.admit(tx)
        source_id, created = inbox.open_source(tx, call.caller.user_id, kind, **stated, **more)
        appended = inbox.append(tx, kind, source_id, [one.message for one in messages]) if messages else None
        if ends:
            inbox.end(tx, kind, source_id)
        opened = answered(source_id, created, appended)
        call.told.status = 201 if getattr(opened, "created", created) else 200
        if created or messages:
            call.once.note_result(tx, opened.model_dump(exclude_none=True), status=call.told.status)
    return opened


def _append(call: Call, kind: SourceKind, source_id: UUID, messages: Sequence[requests.NewMessage]) -> views.Appended:
    with call.database.agent(call.caller) as tx:
        call.once.admit(tx)
        appended = Inbox(call.installation.context).append(tx, kind, source_id, [one.message for one in messages])
        call.once.note_result(tx, appended)
    return appended


def _end(call: Call, kind: SourceKind, source_id: UUID, body: requests.End | None) -> datetime:
    with call.database.agent(call.caller) as tx:
        return Inbox(call.installation.context).end(tx, kind, source_id, body.ended_at if body is not None else None)
