"""LibreChat: the JSON export of a conversation, a tree of messages or a list of them that name their parents.

LibreChat documents the fields by its program.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import (
    Item,
    Opening,
    Spoken,
    assemble,
    message_id,
    moment,
    objects_of,
    text_of,
)
from neurigraph_pipelines.inbox.imports.branches import current_branch
from neurigraph_pipelines.inbox.imports.openai import text_of_parts
from neurigraph_pipelines.model import NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a conversation: the branch that ends in its latest message."""
    listed = item.get("messages", item.get("messagesTree"))
    if not isinstance(listed, list):
        yield RejectedItem(where, "it has no list of messages")
        return
    yield from assemble(
        where,
        text_of(item.get("conversationId")) or Opening("librechat"),
        _messages(list(_flat(objects_of(listed)))),
        title=text_of(item.get("title")),
        fallback_time=fallback_time,
        details=SourceDetails(origin="librechat"),
    )


def _flat(tree: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a tree, each after its parent."""
    waiting = tree[::-1]
    while waiting:
        one = waiting.pop()
        yield one
        parent = one.get("messageId")
        below = objects_of(one.get("children"))
        waiting += [{"parentMessageId": parent, **child} for child in below[::-1]]


def _messages(listed: list[dict[str, Any]]) -> Iterator[Spoken]:
    branch = current_branch(
        listed,
        key=lambda one: text_of(one.get("messageId")),
        parent=lambda one: text_of(one.get("parentMessageId")),
        time=lambda one: moment(one.get("createdAt")) or _EPOCH,
    )
    for number, raw in enumerate(branch, 1):
        by_user = raw.get("isCreatedByUser")
        role = Role.USER if by_user or (by_user is None and raw.get("sender") == "User") else Role.ASSISTANT
        files = [
            f"[attached: {name}]" for one in objects_of(raw.get("files")) if (name := text_of(one.get("filename")))
        ]
        words = "\n".join(filter(None, [text_of(raw.get("text")) or text_of_parts(raw.get("content") or ""), *files]))
        if words.strip():
            message = NewMessage(role, words, occurred_at=moment(raw.get("createdAt")))
            key = text_of(raw.get("messageId")) or message_id(number, message)
            yield NewMessage(role, words, external_id=key, occurred_at=message.occurred_at)
