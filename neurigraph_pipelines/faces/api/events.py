"""The inbox of events, such as meetings: open them, append messages, end them, set their privacy."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.lag import NotesLag
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


sources.add_common(router, "", SourceKind.EVENT, Events, EventState)
