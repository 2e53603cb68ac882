"""LibreChat: the JSON export of a conversation, a tree of messages or a list of them that name their parents.

LibreChat documents the fields by its program.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, Spoken, assemble, message_id, moment_of
from neurigraph_pipelines.inbox.imports.branches import current_branch
from neurigraph_pipelines.inbox.imports.openai import text_of_parts
from neurigraph_pipelines.model import IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import JsonObject, as_objects, objects_of, text_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a conversation: the branch that ends in its latest message."""
    listed = item.get("messages", item.get("messagesTree"))
    if not isinstance(listed, list):
        yield RejectedItem(where, "it has no list of messages")
        return
    yield from assemble(
        where,
        text_of(item, "conversationId") or Opening("librechat"),
        _messages(list(_flat(as_objects(listed)))),
        title=text_of(item, "title"),
        fallback_time=fallback_time,
        details=SourceDetails(origin="librechat"),
    )


def _flat(tree: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield the messages of a tree, each after its parent."""
    waiting = tree[::-1]
    while waiting:
        one = waiting.pop()
        yield one
        parent = one.get("messageId")
        below = objects_of(one, "children")
        waiting += [{"parentMessageId": parent, **child} for child in below[::-1]]


def _messages(listed: list[JsonObject]) -> Iterator[Spoken]:
    branch = current_branch(
        listed,
        key=lambda one: text_of(one, "messageId"),
        parent=lambda one: text_of(one, "parentMessageId"),
        time=lambda one: moment_of(one, "createdAt") or _EPOCH,
    )
    for number, raw in enumerate(branch, 1):
        by_user = raw.get("isCreatedByUser")
        role = Role.USER if by_user or (by_user is None and raw.get("sender") == "User") else Role.ASSISTANT
        files = [f"[attached: {name}]" for one in objects_of(raw, "files") if (name := text_of(one, "filename"))]
        words = "\n".join(filter(None, [text_of(raw, "text") or text_of_parts(raw.get("content") or ""), *files]))
        if words.strip():
            message = IncomingMessage(role, words, occurred_at=moment_of(raw, "createdAt"))
            key = text_of(raw, "messageId") or message_id(number, message)
            yield IncomingMessage(role, words, external_id=key, occurred_at=message.occurred_at)
