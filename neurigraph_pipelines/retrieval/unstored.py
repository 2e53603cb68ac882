"""Reading messages that are not stored yet, one source at a time. ``query.unstored`` searches them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.model import SourceKind, author_view
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.index.unstored import message_of
from neurigraph_pipelines.retrieval.open import OpenedMessage, message_view
from neurigraph_pipelines.views.files import UnstoredMessages

MAX_MESSAGES = 1_000
"""Most messages that are read at once."""

_QUERIES = statements("search")


@dataclass(frozen=True, slots=True)
class Unstored:
    """Messages of a conversation, event, upload or note that are not stored yet.

    Attributes:
        source_id: Of the conversation, event, upload or note.
        messages: In their order; empty if all are stored.
        record_ids: The visible memories that the others became, oldest first.
    """

    source_id: UUID
    messages: tuple[OpenedMessage, ...]
    record_ids: tuple[UUID, ...]


def unstored_view(found: Unstored) -> UnstoredMessages:
    """Return the messages of a source that are not stored yet as callers see them."""
    return UnstoredMessages(
        source_id=found.source_id, messages=list(map(message_view, found.messages)), record_ids=list(found.record_ids)
    )


def open_unstored(context: Context, source_id: UUID, *, from_message: int = 1, limit: int = MAX_MESSAGES) -> Unstored:
    """Read the messages of a source that are not stored yet.

    A message that is stored meanwhile is in the file of one of the records.

    Args:
        from_message: Number of the first message.
        limit: Most messages.

    Raises:
        NotFoundError: No such source, or nothing of it is visible to the caller.
    """
    values = {"source_id": source_id, "from_message": from_message, "limit": limit}
    (row,) = context.database.ask(context.claims, _QUERIES["unstored_messages"], values)
    found = row["found"]
    # Read afterwards: what is stored between the two is in one of them at least.
    records = context.database.ask(
        context.claims, _QUERIES["records_of_source"], {"user_id": context.claims.user_id, "source_id": source_id}
    )
    if found is None and not records:
        raise NotFoundError
    return Unstored(source_id, _opened(found) if found is not None else (), tuple(one["record_id"] for one in records))


def _opened(found: Mapping[str, Any]) -> tuple[OpenedMessage, ...]:
    messages = [message_of(fields) for fields in found["messages"]]
    voices = voices_of(messages, SourceKind(found["kind"]), found["slug"])
    return tuple(
        OpenedMessage(
            None,
            message.seq,
            message.role,
            author_view(message.author, voices[message.seq], fields["persona"]),
            voices[message.seq],
            message.external_id,
            message.occurred_at,
            message.content,
            message.tool_calls,
            message.event,
        )
        for message, fields in zip(messages, found["messages"], strict=True)
    )
