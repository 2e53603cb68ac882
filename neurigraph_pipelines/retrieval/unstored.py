"""Reading messages that are not stored yet, one source at a time. ``query.unstored`` searches them."""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.model import SourceKind, author_view
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.tool_events import event_fields
from neurigraph_pipelines.retrieval.index.unstored import message_of
from neurigraph_pipelines.views.files import Message, UnstoredMessages
from neurigraph_pipelines.views.scalars import Row

MAX_MESSAGES = 1_000
"""Most messages that are read at once."""

_QUERIES = statements("search")


def open_unstored(
    context: Context, source_id: UUID, *, from_message: int = 1, limit: int = MAX_MESSAGES
) -> UnstoredMessages:
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
    return UnstoredMessages(
        source_id=source_id,
        messages=_opened(found) if found is not None else [],
        record_ids=[one["record_id"] for one in records],
    )


def _opened(found: Row) -> list[Message]:
    messages = [message_of(fields) for fields in found["messages"]]
    voices = voices_of(messages, SourceKind(found["kind"]), found["slug"])
    return [
        Message(
            file_id=None,
            seq=message.seq,
            role=message.role,
            author=author_view(message.author, voices[message.seq], fields["persona"]),
            voice=voices[message.seq],
            external_id=message.external_id,
            occurred_at=message.occurred_at,
            content=message.content,
            tool_calls=list(message.tool_calls),
            **event_fields(message.role, message.event),
        )
        for message, fields in zip(messages, found["messages"], strict=True)
    ]
