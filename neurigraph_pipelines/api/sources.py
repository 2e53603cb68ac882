"""Functions that the routers of conversations, events, uploads and notes share: append messages, set privacy, end.

The routes belong in those routers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.api import requests
from neurigraph_pipelines.guards import Guard
from neurigraph_pipelines.ingestion import privacy
from neurigraph_pipelines.ingestion.inbox import Inbox
from neurigraph_pipelines.model import Claims, NewMessage, SourceKind
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
