"""What conversations and events have in common: messages that come in, and an end.

The operations themselves, with their addresses, stand in the router of their subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.api import requests
from neurigraph_pipelines.ingestion import privacy
from neurigraph_pipelines.ingestion.inbox import Inbox
from neurigraph_pipelines.model import Claims, NewMessage, SourceKind
from neurigraph_pipelines.wiring import Installation


def inbox(installation: Installation) -> Inbox:
    """The inbox of an installation."""
    return Inbox(installation.context)


def new_messages(sent: Sequence[requests.NewMessage]) -> list[NewMessage]:
    """Messages of a request in the words of the domain."""
    return [
        NewMessage(
            role=message.role,
            content=message.content,
            author=message.author,
            external_id=message.external_id,
            occurred_at=message.occurred_at,
            tool_calls=tuple(message.tool_calls),
            complete=message.complete,
        )
        for message in sent
    ]


def append(
    installation: Installation, caller: Claims, kind: SourceKind, source_id: UUID, sent: Sequence[requests.NewMessage]
) -> dict[str, Any]:
    """Append the messages of a request; gives what ``responses.Appended`` shows."""
    with installation.database.agent(caller) as tx:
        return asdict(inbox(installation).append(tx, kind, source_id, new_messages(sent)))


def set_privacy(
    installation: Installation, caller: Claims, kind: SourceKind, source_id: UUID, body: requests.Sharing
) -> None:
    """Say who may know of a source and of all that came from it."""
    privacy.set_privacy(installation.database, caller, source_id, body.privacy, kind)


def end(
    installation: Installation, caller: Claims, kind: SourceKind, source_id: UUID, body: requests.End | None
) -> datetime:
    """End a source, now unless the request says when; gives when it ended."""
    with installation.database.agent(caller) as tx:
        return inbox(installation).end(tx, kind, source_id, body.ended_at if body is not None else None)
