"""What the routers of conversations, events, uploads and notes share: append, privacy, end, lists, progress.

The routes belong in those routers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines import presentation
from neurigraph_pipelines.api import requests
from neurigraph_pipelines.guards import Guard
from neurigraph_pipelines.ingestion import privacy
from neurigraph_pipelines.ingestion.inbox import Inbox
from neurigraph_pipelines.listing.sources import SourceFilter, get_source, list_sources
from neurigraph_pipelines.listing.waiting import MAX_WAIT_SECONDS
from neurigraph_pipelines.model import SETTLED, Claims, NewMessage, Progress, SourceKind
from neurigraph_pipelines.wiring import Installation


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
) -> dict[str, Any]:
    """Append the messages of a request and return the fields of ``responses.inbox.Appended``."""
    with installation.database.agent(caller) as tx:
        guard.admit(tx)
        appended = asdict(inbox(installation).append(tx, kind, source_id, new_messages(sent)))
        guard.settle(tx, appended)
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
    state: Annotated[Progress | None, Query(description="Only those in this state.")] = None,
    external_id: Annotated[str | None, Query(description="Only the one with this id.")] = None,
    title: Annotated[str | None, Query(description="Only those with all of these words in the title.")] = None,
    received_after: Annotated[datetime | None, Query(description="Received at this time or later.")] = None,
    received_before: Annotated[datetime | None, Query(description="Received before this time.")] = None,
    started_after: Annotated[datetime | None, Query(description="Started at this time or later.")] = None,
    started_before: Annotated[datetime | None, Query(description="Started before this time.")] = None,
) -> SourceFilter:
    return SourceFilter(state, external_id, title, received_after, received_before, started_after, started_before)


Wanted = Annotated[SourceFilter, Depends(_wanted)]
"""The filters of a list of conversations, events, uploads or notes."""

Wait = Annotated[
    float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait until it is stored or has failed.")
]
"""How long a caller waits."""


def listed(
    installation: Installation, caller: Claims, kind: SourceKind, wanted: SourceFilter, limit: int, cursor: str | None
) -> dict[str, Any]:
    """Return a page of sources of one kind."""
    page = list_sources(installation.database, installation.cursors, caller, kind, wanted, limit=limit, cursor=cursor)
    return page.shown(f"{kind}s", presentation.source)


async def progress(request: Request, caller: Claims, kind: SourceKind, source_id: UUID, wait: float) -> dict[str, Any]:
    """Return one source, once it is stored or has failed or the time to wait is over. Waiting occupies no thread."""
    database = request.app.state.installation.database
    found = await run_in_threadpool(get_source, database, caller, kind, source_id)
    if wait and found["state"] not in SETTLED:
        await request.app.state.waiters.wait(source_id, wait)
        found = await run_in_threadpool(get_source, database, caller, kind, source_id)
    return presentation.source(found)
