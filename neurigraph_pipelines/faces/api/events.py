"""The inbox of events, such as meetings: open them, append messages, end them, set their privacy."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import Author, InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.preconditions import NOT_MODIFIED, EventGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.views import inbox as views
from neurigraph_pipelines.views.sources import Events, EventState

router = APIRouter(prefix="/events", tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))


@router.post(
    "",
    dependencies=[NotesLag],
    status_code=201,
    response_model_exclude_none=True,
    responses={200: {"model": views.Event, "description": "The event exists already."}},
)
def open_event(
    body: requests.NewEvent, response: Response, caller: Writer, installation: InstallationDep, once: Once
) -> views.Event:
    """Open an event, or return the existing one with the same `external_id`, and append the messages so far.

    Either everything is stored or nothing.
    """
    look(installation.database, caller, replaces=body.replaces)
    inbox = sources.inbox(installation)
    with installation.database.agent(caller) as tx:
        once.admit(tx)
        event_id, created = inbox.open_source(
            tx,
            caller.user_id,
            SourceKind.EVENT,
            external_id=body.external_id,
            title=body.title,
            started_at=body.started_at,
            event_kind=body.kind,
            privacy=body.privacy,
            details=body.details,
        )
        appended = None
        if body.messages:
            appended = inbox.append(tx, SourceKind.EVENT, event_id, sources.new_messages(body.messages))
        opened = views.Event(event_id=event_id, messages=appended)
        if created or body.messages:
            once.note_result(tx, opened.model_dump(exclude_none=True), status=201 if created else 200)
    if not created:
        response.status_code = 200
    return opened


@router.post("/{event_id}/messages", dependencies=[NotesLag])
def append_to_event(
    event_id: UUID, body: requests.NewEventMessages, caller: Writer, installation: InstallationDep, once: Once
) -> views.Appended:
    """Append messages in the order given. They can be found once the event has ended and is stored."""
    return sources.append(installation, caller, SourceKind.EVENT, event_id, body.messages, once)


@router.post("/{event_id}/end", dependencies=[NotesLag])
def end_event(
    event_id: UUID, caller: Writer, installation: InstallationDep, body: requests.End | None = None
) -> views.EventEnded:
    """End an event, which is stored as one memory, whatever its length. Ending it again changes nothing."""
    ended_at = sources.end(installation, caller, SourceKind.EVENT, event_id, body)
    return views.EventEnded(event_id=event_id, ended_at=ended_at)


@router.get("")
def list_events(asked: sources.ListingDep) -> Events:
    """List events with their states, the last received first. A persona sees its own."""
    return asked.of(SourceKind.EVENT, Events)


@router.get("/{event_id}", responses=NOT_MODIFIED)
async def event_state(event_id: UUID, reading: sources.ReadingDep) -> EventState:
    """Return the state of an event, and the memories that it became."""
    return await sources.progress(reading, EventState, event_id)


@router.patch("/{event_id}", status_code=204, responses=documented(412))
def share_event(
    event_id: UUID, body: requests.Sharing, caller: Author, installation: InstallationDep, guard: EventGuard
) -> None:
    """Make an event and all memories from it private, or share them again. Only the owner may do so."""
    sources.set_privacy(installation, caller, SourceKind.EVENT, event_id, body, guard)
