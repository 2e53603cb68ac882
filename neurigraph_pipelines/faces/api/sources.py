"""The operations that conversations, events, uploads and notes share: append, privacy, end, lists, progress.

The routes belong in those routers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Within
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import IfNoneMatch, read_source_version, tagged
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.inbox import privacy
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.inbox.waiting import MAX_WAIT_SECONDS
from neurigraph_pipelines.model import SETTLED, Claims, NewMessage, Progress, SourceKind
from neurigraph_pipelines.views.inbox import Appended
from neurigraph_pipelines.views.sources import (
    Conversations,
    ConversationState,
    Events,
    EventState,
    Notes,
    NoteState,
    Upload,
    Uploads,
)
from neurigraph_pipelines.wiring.installation import Installation


def inbox(installation: Installation) -> Inbox:
    """Return the inbox of an installation."""
    return Inbox(installation.context)


def new_messages(sent: Sequence[requests.NewMessage]) -> list[NewMessage]:
    """Convert the messages of a request to domain values."""
    return [message.message for message in sent]


def append(
    installation: Installation,
    caller: Claims,
    kind: SourceKind,
    source_id: UUID,
    sent: Sequence[requests.NewMessage],
    guard: Guard,
) -> Appended:
    """Append the messages of a request."""
    with installation.database.agent(caller) as tx:
        guard.admit(tx)
        appended = inbox(installation).append(tx, kind, source_id, new_messages(sent))
        guard.note_result(tx, appended)
    return appended


def set_privacy(
    installation: Installation,
    caller: Claims,
    kind: SourceKind,
    source_id: UUID,
    body: requests.Sharing,
    guard: Guard,
) -> None:
    """Set who may see a source and all memories from it."""
    privacy.set_privacy(installation.database, caller, source_id, body.privacy, kind, guard=guard)


def end(
    installation: Installation, caller: Claims, kind: SourceKind, source_id: UUID, body: requests.End | None
) -> datetime:
    """End a source, now or at the time in the request, and return the time at which it ended."""
    with installation.database.agent(caller) as tx:
        return inbox(installation).end(tx, kind, source_id, body.ended_at if body is not None else None)


async def _wanted(
    state: Annotated[Progress | None, Query(description="Only sources in this state.")] = None,
    external_id: Annotated[str | None, Query(description="Only the source with this id.")] = None,
    title: Annotated[str | None, Query(description="Only sources with all of these words in the title.")] = None,
    received_after: Annotated[datetime | None, Query(description="Received at this time or later.")] = None,
    received_before: Annotated[datetime | None, Query(description="Received before this time.")] = None,
    started_after: Annotated[datetime | None, Query(description="Started at this time or later.")] = None,
    started_before: Annotated[datetime | None, Query(description="Started before this time.")] = None,
    upload_id: Annotated[UUID | None, Query(description="Only conversations of this uploaded export.")] = None,
) -> SourceFilter:
    times = (received_after, received_before, started_after, started_before)
    return SourceFilter(state, external_id, title, *times, upload_id)


Wanted = Annotated[SourceFilter, Depends(_wanted)]
"""The filters of a list."""

Wait = Annotated[
    float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until it is stored or has failed.")
]
"""How long a caller waits."""


_Page = TypeVar("_Page", Conversations, Events, Uploads, Notes)
_State = TypeVar("_State", ConversationState, EventState, Upload, NoteState)


@dataclass(frozen=True, slots=True)
class Listing:
    """A request for a page of sources."""

    caller: Claims
    installation: Installation
    wanted: SourceFilter
    limit: int
    cursor: str | None

    def of(self, kind: SourceKind, view: type[_Page]) -> _Page:
        """Return the page, of sources of one kind."""
        database, cursors = self.installation.database, self.installation.cursors
        page = list_sources(database, cursors, self.caller, kind, self.wanted, limit=self.limit, cursor=self.cursor)
        return page.into(view)


def _listing(
    caller: Within, installation: InstallationDep, wanted: Wanted, limit: Limit = 50, cursor: Cursor = None
) -> Listing:
    """Return the parameters of a request for a page."""
    return Listing(caller, installation, wanted, limit, cursor)


ListingDep = Annotated[Listing, Depends(_listing)]
"""The caller, filters and place of a list of conversations, events, uploads or notes."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A request for one source: its wait, and the version that the caller has already."""

    request: Request
    response: Response
    caller: Claims
    wait: float
    if_none_match: str | None


def _reading(
    request: Request, response: Response, caller: Caller, wait: Wait = 0.0, if_none_match: IfNoneMatch = None
) -> Reading:
    """Return the parameters of a request for one source."""
    return Reading(request, response, caller, wait, if_none_match)


ReadingDep = Annotated[Reading, Depends(_reading)]


async def progress(reading: Reading, view: type[_State], source_id: UUID) -> _State:
    """Return one source, once it is stored or has failed or the time to wait is over. Waiting occupies no thread."""
    state = reading.request.app.state
    installation, caller = state.installation, reading.caller
    found = await run_in_threadpool(get_source, installation.database, caller, view.KIND, source_id)
    if reading.wait and found.state not in SETTLED:
        await state.waiters.wait(source_id, reading.wait)
        found = await run_in_threadpool(get_source, installation.database, caller, view.KIND, source_id)
    version = await run_in_threadpool(read_source_version, installation, caller, source_id)
    assert isinstance(found, view)
    return tagged(reading.response, version, found, reading.if_none_match)
