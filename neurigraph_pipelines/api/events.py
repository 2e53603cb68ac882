"""The inbox: events that have a start and an end in the world, their messages, their end."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.api import requests, responses, sources
from neurigraph_pipelines.api.authentication import Here, Owner, Writer
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.model import SourceKind

router = APIRouter(prefix="/events", tags=["inbox"], responses=documented(401, 403, 404, 409, 413, 422, 503))


@router.post(
    "",
    status_code=201,
    response_model=responses.Event,
    response_model_exclude_none=True,
    responses={200: {"model": responses.Event, "description": "It existed already."}},
)
def open_event(body: requests.NewEvent, response: Response, caller: Writer, installation: Here) -> dict[str, Any]:
    """Open an event, or find the one of that `external_id`, and append what was said so far: all of it or nothing."""
    inbox = sources.inbox(installation)
    with installation.database.agent(caller) as tx:
        event_id, made = inbox.open_source(
            tx,
            caller.user_id,
            SourceKind.EVENT,
            external_id=body.external_id,
            title=body.title,
            started_at=body.started_at,
            event_kind=body.kind,
            privacy=body.privacy,
        )
        opened: dict[str, Any] = {"event_id": event_id}
        if body.messages:
            appended = inbox.append(tx, SourceKind.EVENT, event_id, sources.new_messages(body.messages))
            opened["messages"] = asdict(appended)
    if not made:
        response.status_code = 200
    return opened


@router.post("/{event_id}/messages", response_model=responses.Appended)
def append_to_event(
    event_id: UUID, body: requests.NewEventMessages, caller: Writer, installation: Here
) -> dict[str, Any]:
    """Append messages in the order given. They become findable once the event has ended and was stored."""
    return sources.append(installation, caller, SourceKind.EVENT, event_id, body.messages)


@router.post("/{event_id}/end", response_model=responses.EventEnded)
def end_event(
    event_id: UUID, caller: Writer, installation: Here, body: requests.End | None = None
) -> dict[str, UUID | datetime]:
    """Say that an event has ended; it is stored as one memory, however long. Ending it again changes nothing."""
    return {
        "event_id": event_id,
        "ended_at": sources.end(installation, caller, SourceKind.EVENT, event_id, body),
    }


@router.patch("/{event_id}", status_code=204)
def share_event(event_id: UUID, body: requests.Sharing, caller: Owner, installation: Here) -> None:
    """Make an event private, or share it again, with all memories that came from it. Only the owner may."""
    sources.set_privacy(installation, caller, SourceKind.EVENT, event_id, body)
