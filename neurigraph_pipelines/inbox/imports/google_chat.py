"""Google Chat in Google Takeout: ``messages.json`` of a space or of a direct chat. Each day becomes a conversation.

Google does not document the fields. ``google_dates`` reads the dates, ``json_stream`` the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Item, Spoken
from neurigraph_pipelines.inbox.imports.chat_days import days, with_ids
from neurigraph_pipelines.inbox.imports.google_dates import LONGEST_DATE, Dates
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import JsonObject, object_of, objects_of, text_of
from neurigraph_pipelines.views.kinds import Channel


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a chat. Deleted messages are left out."""
    listed = objects_of(item, "messages")
    people = sorted({name for one in listed if (name := _author(one))})
    first = text_of(listed[0], "message_id") or text_of(listed[0], "topic_id") if listed else None
    space = (first or "").partition("/")[0]
    yield from days(
        where,
        f"google-chat:{space}" if 0 < len(space) <= 100 else None,
        ", ".join(people[:4]) or "Google Chat",
        with_ids(_messages(listed, where)),
        fallback_time=fallback_time,
        details=SourceDetails(origin="google-chat", channel=Channel.DM if len(people) <= 2 else Channel.PRIVATE),
    )


def _messages(listed: list[JsonObject], where: str) -> Iterator[Spoken]:
    dates = Dates()
    for raw in listed:
        if raw.get("message_state") == "DELETED" or "deletion_metadata" in raw:
            yield ImportNote("left out: deleted messages", 1)
            continue
        files = [
            f"[attached: {name}]"
            for one in objects_of(raw, "attached_files")
            if (name := text_of(one, "original_name", "export_name"))
        ]
        if words := "\n".join(filter(None, [text_of(raw, "text"), *files])):
            key, written = text_of(raw, "message_id"), text_of(raw, "created_date")
            time = dates.read(written) if written else None
            if written and time is None:
                yield RejectedItem(f"{where}, message {key}", f"its date {written[:LONGEST_DATE]!r} is not understood")
                continue
            yield IncomingMessage(Role.USER, words, _author(raw) or UNKNOWN, key, time)


def _author(raw: JsonObject) -> str | None:
    return text_of(object_of(raw, "creator"), "name", "email")
