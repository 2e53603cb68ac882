"""Google Chat in Google Takeout: ``messages.json`` of a space or of a direct chat. Each day becomes a conversation.

Google does not document the fields, and writes dates in the language of the account: ``dateparser`` reads those that
are not English. ``json_stream`` reads the file, ``chat_days`` splits the chat.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Item, Spoken, objects_of, text_of
from neurigraph_pipelines.inbox.imports.chat_days import days, with_ids
from neurigraph_pipelines.model import ImportNote, NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.hygiene import spoken
from neurigraph_pipelines.views.kinds import Channel

_MONTHS = "january february march april may june july august september october november december".split()
_LONGEST_DATE = 80
_NUMBER = re.compile(r"\d+")
_FEWEST_NUMBERS = 4
"""Numbers of a day, a year, an hour and a minute."""

_MOST_FAILED = 2
"""Dates of no known language after which a chat has none: to try all languages takes seconds."""

_DATE = re.compile(
    r"(?:\w+,\s+)?(?:(?P<month>[A-Za-z]+)\s+(?P<day>\d{1,2})|(?P<first>\d{1,2})\s+(?P<named>[A-Za-z]+)),?\s+"
    r"(?P<year>\d{4})\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:\s+(?P<half>[AP])M)?\s+UTC"
)


def conversations(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a chat. Deleted messages are left out."""
    listed = objects_of(item.get("messages"))
    people = sorted({name for one in listed if (name := _author(one))})
    first = text_of(listed[0].get("message_id")) or text_of(listed[0].get("topic_id")) if listed else None
    space = (first or "").partition("/")[0]
    yield from days(
        where,
        f"google-chat:{space}" if 0 < len(space) <= 100 else None,
        ", ".join(people[:4]) or "Google Chat",
        with_ids(_messages(listed, where)),
        fallback_time=fallback_time,
        details=SourceDetails(origin="google-chat", channel=Channel.DM if len(people) <= 2 else Channel.PRIVATE),
    )


def _messages(listed: list[dict[str, Any]], where: str) -> Iterator[Spoken]:
    dates = _Dates()
    for raw in listed:
        if raw.get("message_state") == "DELETED" or "deletion_metadata" in raw:
            yield ImportNote("left out: deleted messages", 1)
            continue
        files = [
            f"[attached: {name}]"
            for one in objects_of(raw.get("attached_files"))
            if (name := text_of(one.get("original_name")) or text_of(one.get("export_name")))
        ]
        if words := "\n".join(filter(None, [text_of(raw.get("text")), *files])):
            key, written = text_of(raw.get("message_id")), text_of(raw.get("created_date"))
            time = dates.read(written) if written else None
            if written and time is None:
                yield RejectedItem(f"{where}, message {key}", f"its date {written[:_LONGEST_DATE]!r} is not understood")
                continue
            yield NewMessage(Role.USER, words, _author(raw) or UNKNOWN, key, time)


def _author(raw: dict[str, Any]) -> str | None:
    creator = raw.get("creator")
    return text_of(creator.get("name")) or text_of(creator.get("email")) if isinstance(creator, dict) else None


class _Dates:
    """Reads the dates of a chat; a language that is found is tried first for the next date."""

    def __init__(self) -> None:
        self._failed = 0

    def read(self, written: str) -> datetime | None:
        """Return a time such as ``lundi 20 mai 2024 à 12:00:00 UTC``; None for one of no known language."""
        time = _time(written)
        if time is not None or len(written) > _LONGEST_DATE or self._failed >= _MOST_FAILED:
            return time
        if len(_NUMBER.findall(written)) < _FEWEST_NUMBERS:
            return None
        found = self._parser.get_date_data(written).date_obj
        self._failed += found is None
        try:
            return None if found is None else spoken(found)
        except InvalidInputError:
            return None

    @cached_property
    def _parser(self) -> Any:
        from dateparser.date import DateDataParser

        absolute = {"TIMEZONE": "UTC", "RETURN_AS_TIMEZONE_AWARE": True, "PARSERS": ["absolute-time"]}
        return DateDataParser(try_previous_locales=True, settings={"STRICT_PARSING": True, **absolute})


def _time(value: str) -> datetime | None:
    """Return a time such as ``Monday, May 20, 2024 at 12:00:00 PM UTC``."""
    match = _DATE.fullmatch(value)
    month = (match["month"] or match["named"]).lower() if match else ""
    if match is None or month not in _MONTHS:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "P" else 0)
    day, year = int(match["day"] or match["first"]), int(match["year"])
    try:
        return datetime(
            year, _MONTHS.index(month) + 1, day, hour, int(match["minute"]), int(match["second"]), tzinfo=UTC
        )
    except ValueError:
        return None
