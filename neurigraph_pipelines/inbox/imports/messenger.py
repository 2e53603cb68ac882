"""Messenger and Instagram: ``message_1.json`` of a chat in Meta's export. Each day becomes a conversation.

Meta does not document the fields, and writes the bytes of UTF-8 as if they were characters. ``chat_days`` splits the
chat.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Item, Spoken, moment
from neurigraph_pipelines.inbox.imports.chat_days import days, with_ids
from neurigraph_pipelines.model import ImportNote, IncomingMessage, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import (
    Json,
    JsonObject,
    as_text,
    list_of,
    object_of,
    objects_of,
    text_of,
    texts_of,
)
from neurigraph_pipelines.views.kinds import Channel

_FILES = ("photos", "videos", "files", "audio_files", "gifs", "media")
_NOTICES = ("Subscribe", "Unsubscribe", "Call")
_LATEST = 1e14
"""Milliseconds since 1970, beyond every year that is kept."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a chat, oldest message first. Deleted messages and notices are left out."""
    listed = list_of(item, "participants")
    people = [_repaired(one.get("name") if isinstance(one, dict) else one) for one in listed]
    named = [name for name in people if name]
    path = text_of(item, "thread_path")
    messages = sorted(objects_of(item, "messages"), key=lambda one: _time(one) or _EPOCH)
    key = (path or "").rpartition("_")[2] or path
    yield from days(
        where,
        f"messenger:{key}" if key and len(key) <= 100 else None,
        _repaired(item.get("title")) or ", ".join(named[:4]) or "Messenger",
        with_ids(_messages(messages)),
        fallback_time=fallback_time,
        details=SourceDetails(origin="messenger", channel=Channel.DM if len(named) <= 2 else Channel.PRIVATE),
    )


def _messages(messages: list[JsonObject]) -> Iterator[Spoken]:
    for raw in messages:
        if raw.get("is_unsent") or raw.get("isUnsent"):
            yield ImportNote("left out: deleted messages", 1)
        elif raw.get("type") in _NOTICES or "call_duration" in raw:
            yield ImportNote("left out: notices of the app", 1)
        elif words := _words(raw):
            author = _repaired(raw.get("sender_name")) or _repaired(raw.get("senderName")) or UNKNOWN
            yield IncomingMessage(Role.USER, words, author, occurred_at=_time(raw))


def _words(raw: JsonObject) -> str:
    shared = [_repaired(one) for one in texts_of(object_of(raw, "share"), "share_text", "link")]
    files = [
        f"[attached: {uri.rpartition('/')[2]}]"
        for kind in _FILES
        for one in objects_of(raw, kind)
        if (uri := text_of(one, "uri"))
    ]
    words = (_repaired(raw.get("content")) or _repaired(raw.get("text")), *shared, *files)
    return "\n".join(filter(None, words))


def _time(raw: JsonObject) -> datetime | None:
    value = raw.get("timestamp_ms", raw.get("timestamp"))
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _LATEST:
        return None
    return moment(value / 1000)


def _repaired(value: Json) -> str | None:
    """Return a text with the characters that its bytes stand for."""
    words = as_text(value)
    try:
        return words.encode("latin-1").decode() if words else None
    except UnicodeError:
        return words
