"""The inbox: conversations, events and notes are handed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import write_note
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.views import inbox as views

_Opened = TypeVar("_Opened", views.Conversation, views.Event)

operation = OperationGroup("add", Who.WRITER)


@operation(
    "POST /conversations",
    status=201,
    refusals=(409,),
    answers={200: {"model": views.Conversation, "description": "The conversation exists already."}},
    notes_lag=True,
)
def open_conversation(call: Call, body: requests.NewConversation) -> views.Conversation:
    """Open a conversation, or return the existing one with the same `external_id`."""
    return _open(call, SourceKind.CONVERSATION, body, lambda known, _: views.Conversation(conversation_id=known))


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

    def opened(event_id: UUID, appended: views.Appended | None) -> views.Event:
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
    call.look(node_id=body.node_id, replaces=body.replaces)
    written = write_note(call.context, body.note)
    call.told.status = 202 if written.created else 200
    call.told.headers["Location"] = f"/v1/notes/{written.note_id}"
    return written


def _open(
    call: Call,
    kind: SourceKind,
    body: requests.NewConversation | requests.NewEvent,
    answered: Callable[[UUID, views.Appended | None], _Opened],
    messages: Sequence[requests.NewMessage] = (),
    **more: Any,
) -> _Opened:
    """Open a source and append its messages so far: all of that or nothing."""
    call.look(replaces=body.replaces)
    stated = {name: getattr(body, name) for name in ("external_id", "title", "started_at", "privacy", "details")}
    inbox = Inbox(call.installation.context)
    with call.database.agent(call.caller) as tx:
        call.once.admit(tx)
        source_id, created = inbox.open_source(tx, call.caller.user_id, kind, **stated, **more)
        appended = inbox.append(tx, kind, source_id, [one.message for one in messages]) if messages else None
        opened = answered(source_id, appended)
        call.told.status = 201 if created else 200
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
