"""WhatsApp: the text file of an exported chat, or the zip that holds it. Each day becomes a conversation.

WhatsApp does not document the file, and writes dates and times as the phone does. ``chat_days`` splits the chat.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import PurePath

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.chat_days import days, with_ids
from neurigraph_pipelines.ingestion.imports.source import Reading
from neurigraph_pipelines.ingestion.imports.text import read_text
from neurigraph_pipelines.model import NewConversation, NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import Channel, SourceDetails

_MARK = "\u200e"
"""WhatsApp puts this invisible mark before what it writes itself: notices, and what stands for a file."""

_LINE = re.compile(
    rf"{_MARK}?(?P<open>\[)?(?P<date>\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}),?\s(?:klo\s)?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?"
    r"(?(open)\]\s|\s-\s)(?P<rest>.*)"
)
_AUTHOR = re.compile(r"[~\u202a-\u202f\u00a0 ]*(?P<author>[^:\n]{1,100}?)[\u202a-\u202e]?:(?:\s(?P<words>.*)|$)")
_ATTACHED = re.compile(
    rf"{_MARK}?(?:<[^<>:]{{1,40}}: (?P<named>[^<>]{{1,200}})>|(?P<file>\S.{{0,198}}\.\w{{2,5}}) \(.{{3,40}}\))"
)
_PLACEHOLDER = re.compile(r"<[^<>]{3,40}>|null")
_EDITED = re.compile(rf"(?<=\S)\s*{_MARK}<[^<>]{{3,60}}>$")
_NAME = re.compile(
    r"WhatsApp Chat (?:with|mit|con|avec|-|–) (?P<name>.+)|Chat WhatsApp (?:con|avec) (?P<other>.+)", re.IGNORECASE
)

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Line:
    """A line that begins a message: its date as three numbers, its time of day, its author and its words."""

    date: tuple[str, str, str]
    hour: int
    minute: int
    second: int
    author: str
    words: list[str]


def is_chat(start: str) -> bool:
    """Return whether one of the first lines of a text begins a message of an exported chat."""
    return any(_LINE.match(line) for line in start.splitlines()[:3])


def conversations(reading: Reading) -> Iterator[NewConversation | RejectedItem]:
    """Read the chat of a file, a conversation a day. Times are taken as UTC, because the file has no zone.

    Raises:
        InvalidInputError: The file is too long, or no line begins a message.
    """
    name = reading.part.name
    lines = list(_lines(read_text(reading)))
    if not lines:
        raise InvalidInputError(f"{name} has no line such as '12/03/2024, 18:05 - Ann: Hello' of a WhatsApp chat.")
    order = _order([line.date for line in lines], name)
    people = sorted({line.author for line in lines})
    title = _title(name) or ", ".join(people[:4])
    yield from days(
        name,
        f"whatsapp:{title[:200]}",
        title,
        with_ids(_messages(lines, order, name)),
        fallback_time=reading.fallback_time,
        details=SourceDetails(origin="whatsapp", channel=Channel.DM if len(people) <= 2 else Channel.PRIVATE),
    )


def _lines(text: str) -> Iterator[_Line]:
    """Yield the messages with the lines that go on; notices have no author and are left out."""
    current: _Line | None = None
    for raw in text.split("\n"):
        match = _LINE.match(raw.rstrip("\r"))
        if match is None:
            if current is not None:
                current.words.append(raw.rstrip("\r"))
            continue
        if current is not None:
            yield current
        current = None
        said = _AUTHOR.match(match["rest"])
        if said is not None:
            first, second, third = re.split(r"[./-]", match["date"])
            hour = int(match["hour"])
            if match["half"]:
                hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
            current = _Line(
                (first, second, third),
                hour,
                int(match["minute"]),
                int(match["second"] or 0),
                said["author"].strip(),
                [said["words"] or ""],
            )
    if current is not None:
        yield current


def _order(dates: Sequence[tuple[str, str, str]], name: str) -> str:
    """Return the order of year, month and day, as ``ymd``, ``dmy`` or ``mdy``.

    A number above 12 is no month. If there is none, the order in which fewer dates go back is taken, and then the day
    first.
    """
    if any(len(first) == 4 for first, _, _ in dates):
        return "ymd"
    if any(int(first) > 12 for first, _, _ in dates):
        return "dmy"
    if any(int(second) > 12 for _, second, _ in dates):
        return "mdy"
    returns = {order: _returns([_parts(one, order) for one in dates]) for order in ("dmy", "mdy")}
    if returns["dmy"] == returns["mdy"]:
        _logger.warning("%s: its dates do not tell day from month; they are read with the day first", name)
    return "mdy" if returns["mdy"] < returns["dmy"] else "dmy"


def _returns(dates: Sequence[tuple[int, int, int]]) -> int:
    """Count the dates that are before the date that precedes them."""
    return sum(later < earlier for earlier, later in pairwise(dates))


def _parts(date: tuple[str, str, str], order: str) -> tuple[int, int, int]:
    """Return year, month and day."""
    named = dict(zip(order, map(int, date), strict=True))
    year = named["y"]
    return (year + 2000 if year < 100 else year), named["m"], named["d"]


def _messages(lines: Sequence[_Line], order: str, name: str) -> Iterator[NewMessage | RejectedItem]:
    for line in lines:
        words = _words(line.words)
        if words is None:
            continue
        try:
            time = datetime(*_parts(line.date, order), line.hour, line.minute, line.second, tzinfo=UTC)
        except ValueError as error:
            yield RejectedItem(f"{name}, {'/'.join(line.date)}", f"its date does not exist ({error})")
            continue
        yield NewMessage(Role.USER, words, line.author, occurred_at=time)


def _words(lines: Sequence[str]) -> str | None:
    """Return the words of a message; None if it has none of its own."""
    text = _EDITED.sub("", "\n".join(lines)).strip()
    attached = _ATTACHED.match(text)
    if attached is not None:
        caption = text[attached.end() :].strip()
        text = f"[attached: {attached['named'] or attached['file']}]" + (f"\n{caption}" if caption else "")
    elif text.startswith(_MARK) or _PLACEHOLDER.fullmatch(text):
        return None
    return text.replace(_MARK, "") or None


def _title(name: str) -> str | None:
    """Return the chat's name by the names of the zip and of the file."""
    for piece in reversed(PurePath(name).parts):
        match = _NAME.fullmatch(re.sub(r"(\.(txt|zip))+$", "", piece, flags=re.IGNORECASE).strip())
        if match is not None:
            return (match["name"] or match["other"]).strip()
    return None
