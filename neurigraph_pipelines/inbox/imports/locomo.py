"""LoCoMo (ACL 2024): long conversations of two people in dated sessions. Each session becomes a conversation.

The benchmarks use the questions of the data set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble
from neurigraph_pipelines.model import IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_object, text_of

_SESSION = re.compile(r"session_([1-9]\d{0,5})")
_DATE = re.compile(r"(1[0-2]|[1-9]):([0-5]\d) (am|pm) on ([1-9]|[12]\d|3[01]) ([A-Z][a-z]+), (\d{4})")
# strptime is not used, because its month names depend on the locale.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def session_time(text: Json) -> datetime:
    """Parse a date such as ``1:56 pm on 8 May, 2023``, taken as UTC.

    Raises:
        InvalidInputError: The date has another format, or does not exist.
    """
    match = _DATE.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[5] not in _MONTHS:
        raise InvalidInputError(f"its date {str(text)[:50]!r} is not written like '1:56 pm on 8 May, 2023'")
    hour = int(match[1]) % 12 + (12 if match[3] == "pm" else 0)
    try:
        return datetime(int(match[6]), _MONTHS.index(match[5]) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError as error:
        raise InvalidInputError(f"its date {text!r} does not exist ({error})") from error


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one sample: its sessions in the order of their numbers."""
    content, sample = item.get("conversation"), text_of(item, "sample_id")
    if not isinstance(content, dict) or sample is None:
        yield RejectedItem(where, "it has no sample_id or no conversation")
        return
    speakers = [name for key in ("speaker_a", "speaker_b") if (name := text_of(content, key))]
    sessions = sorted(int(match[1]) for key in content if (match := _SESSION.fullmatch(key)))
    for number in sessions:
        external_id = f"{sample}:session_{number}"
        turns = content[f"session_{number}"]
        if not isinstance(turns, list):
            yield RejectedItem(external_id, "it is not a list of turns")
            continue
        try:
            date = session_time(content.get(f"session_{number}_date_time"))
        except InvalidInputError as error:
            yield RejectedItem(external_id, str(error))
            continue
        yield from assemble(
            external_id,
            external_id,
            _messages(turns, date, external_id),
            title=" and ".join(speakers),
            started_at=date,
            fallback_time=fallback_time,
        )


def _messages(turns: list[Json], date: datetime, where: str) -> Iterator[IncomingMessage | RejectedItem]:
    for number, turn in enumerate(map(as_object, turns), 1):
        speaker, external_id = text_of(turn, "speaker"), text_of(turn, "dia_id")
        caption = text_of(turn, "blip_caption")
        parts = [text_of(turn, "text"), f"[shares a photo: {caption}]" if caption else None]
        content = " ".join(part for part in parts if part)
        if speaker is None or external_id is None or not content:
            yield RejectedItem(f"{where}, turn {number}", "it lacks a speaker, a dia_id or a text")
            continue
        yield IncomingMessage(Role.USER, content, speaker, external_id, date + timedelta(seconds=number))
