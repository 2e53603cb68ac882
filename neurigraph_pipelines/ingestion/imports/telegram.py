"""Telegram: ``result.json`` of Telegram Desktop, of one chat or of all. Each day of a chat becomes a conversation.

Telegram documents the fields only by its program. ``json_stream`` reads the file, ``chat_days`` splits the chats.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from neurigraph_pipelines.ingestion.imports.assemble import Item, derived_id, moment, objects_of, text_of
from neurigraph_pipelines.ingestion.imports.chat_days import days, with_ids
from neurigraph_pipelines.model import NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import Channel, SourceDetails

_CHANNELS = {
    "personal_chat": Channel.DM,
    "bot_chat": Channel.DM,
    "saved_messages": Channel.DM,
    "public_supergroup": Channel.PUBLIC,
    "public_channel": Channel.PUBLIC,
}
"""Channels of the kinds of chats; of every other kind it is private."""


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a chat, or the chats of a whole export. Service messages are left out."""
    listed = item.get("chats")
    chats = objects_of(listed.get("list") if isinstance(listed, dict) else None) if listed is not None else [item]
    if not chats:
        yield RejectedItem(where, "it has no list of chats")
    for number, chat in enumerate(chats, 1):
        here = where if listed is None else f"{where}, chat {number}"
        if not isinstance(chat.get("messages"), list):
            yield RejectedItem(here, "it has no list of messages")
            continue
        kind = str(chat.get("type"))
        title = text_of(chat.get("name")) or ("Saved messages" if kind == "saved_messages" else "Telegram chat")
        key = chat.get("id")
        yield from days(
            here,
            f"telegram:{key}" if isinstance(key, int | str) else derived_id("telegram", title),
            title,
            with_ids(_messages(objects_of(chat["messages"]), here)),
            fallback_time=fallback_time,
            details=SourceDetails(origin="telegram", channel=_CHANNELS.get(kind, Channel.PRIVATE)),
        )


def _messages(messages: list[dict[str, Any]], where: str) -> Iterator[NewMessage | RejectedItem]:
    for raw in messages:
        if raw.get("type", "message") != "message":
            continue
        words = "\n".join(filter(None, (*_attached(raw), _text(raw.get("text")).strip())))
        if not words:
            continue
        key = raw.get("id")
        time = _time(raw)
        if time is None:
            yield RejectedItem(f"{where}, message {key}", "it has no date in ISO 8601 between 1970 and 2200")
            continue
        author = text_of(raw.get("from")) or text_of(raw.get("actor"))
        yield NewMessage(Role.USER, words, author, str(key) if isinstance(key, int) else None, time)


def _time(raw: dict[str, Any]) -> datetime | None:
    """Return the time in UTC; ``date`` alone is the time of the computer that exported, taken as UTC."""
    seconds = raw.get("date_unixtime")
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit():
        return moment(int(seconds))
    time = moment(raw.get("date"))
    return time.astimezone(UTC) if time is not None else None


def _text(value: Any) -> str:
    """Return the words of a text, which is a string or a list of strings and marked-up pieces."""
    if isinstance(value, str):
        return value
    pieces = value if isinstance(value, list) else []
    return "".join(
        piece if isinstance(piece, str) else str(piece.get("text", "")) if isinstance(piece, dict) else ""
        for piece in pieces
    )


def _attached(raw: dict[str, Any]) -> Iterator[str]:
    for kind in ("photo", "file", "sticker_emoji", "location_information", "poll"):
        value = raw.get(kind)
        if kind == "poll" and isinstance(value, dict) and text_of(value.get("question")):
            yield f"[poll: {value['question']}]"
        elif kind in ("photo", "file") and isinstance(value, str) and value:
            yield f"[attached: {text_of(raw.get('file_name')) or value.rsplit('/', 1)[-1]}]"
