"""WhatsApp: the text file of an exported chat, or the zip that holds it. Each day becomes a conversation.

WhatsApp does not document the file, and writes dates and times as the phone does. ``app_words`` knows the words
of the app itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePath

from neurigraph_pipelines.inbox.imports.app_notices import is_notice
from neurigraph_pipelines.inbox.imports.app_words import ATTACHED, MARK, is_deleted, is_omission
from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, assemble, derived_id
from neurigraph_pipelines.inbox.imports.chat_days import by_words
from neurigraph_pipelines.inbox.imports.date_order import DateOrder, Numbers, Order, assumed, is_lunar, order_of, parts
from neurigraph_pipelines.inbox.imports.phone_stamps import INVISIBLE, Stamp, stamp_of
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.inbox.imports.text import read_text
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.kinds import Channel

_AUTHOR = re.compile(rf"[~\u202f\u00a0 {INVISIBLE}]*(?P<author>[^:\n]{{1,100}}?)[ {INVISIBLE}]*:(?:\s(?P<words>.*)|$)")
_EDITED = re.compile(rf"(?<=\S)\s*{MARK}<[^<>]{{3,60}}>$")
_CAPTIONED = re.compile(rf"{MARK}<[^<>:]{{1,40}}: (?P<named>[^<>]{{1,200}})>$")
_NAME = re.compile(
    r"WhatsApp Chat (?:with|mit|con|avec|-|–) (?P<name>.+)|Chat WhatsApp (?:con|avec) (?P<other>.+)", re.IGNORECASE
)

_QUOTATIONS = (("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("「", "」"))

_DAY_BEGINS = 4
"""The hour at which a day begins, because people talk past midnight."""

_LEFT_OUT = "left out: notices of the app"
_KEPT = "kept: lines with the mark of notices whose words are none of a known notice"
_WITHOUT_FILE = "left out: placeholders of files that are not in the export"
_DELETED = "left out: deleted messages"
_UNREAD_DATE = "messages dated by the file, because their dates are of the Islamic calendar, which is not read"


@dataclass(slots=True)
class _Line:
    """A line that begins a message: its date as three numbers, its time of day, its author and its words."""

    date: Numbers
    hour: int
    minute: int
    second: int
    author: str
    words: list[str]
    is_american: bool
    is_notice: bool = False


def is_chat(start: str) -> bool:
    """Return whether one of the first lines of a text begins a message of an exported chat."""
    return any(stamp_of(line) for line in start.splitlines()[:3])


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the chat of a file, a conversation a day. Times are taken as UTC, because the file has no zone.

    The file has no ids: a day has the id of its first message as it is written. So its id depends on no name, and not
    on the reading of its date.

    Raises:
        InvalidInputError: The file is too long, or no line begins a message.
    """
    name = reading.part.name
    text = read_text(reading)
    lines, notices = _lines(text)
    if notices and not lines:
        yield ImportNote(_LEFT_OUT, notices)
        return
    if not lines:
        raise InvalidInputError(f"{name} has no line such as '12/03/2024, 18:05 - Ann: Hello' of a WhatsApp chat.")
    if notices:
        yield ImportNote(_LEFT_OUT, notices)
    if kept := _mark_notices(lines):
        yield ImportNote(_KEPT, kept)
    is_american = any(line.is_american for line in lines)
    found = order_of([line.date for line in lines], has_halves=is_american)
    order = Order(reading.date_order, is_certain=True) if reading.date_order else found
    if not order.is_certain:
        yield assumed(order.order)
    people = sorted({line.author for line in lines})
    title = _title(name) or ", ".join(people[:4])
    details = SourceDetails(origin="whatsapp", channel=Channel.DM if len(people) <= 2 else Channel.PRIVATE)
    for day in _days(lines):
        messages = list(_messages(day, order.order, name))
        first = next(
            (one.occurred_at for one in messages if isinstance(one, IncomingMessage) and one.occurred_at), None
        )
        if first is None and not any(isinstance(one, IncomingMessage) for one in messages):
            yield from (one for one in messages if not isinstance(one, IncomingMessage))
            continue
        shown = (first - timedelta(hours=_DAY_BEGINS)).date() if first else None
        read = assemble(
            name,
            _id_of(day),
            messages,
            title=f"{title}, {shown}" if shown else title,
            fallback_time=reading.fallback_time,
            details=details,
        )
        yield from by_words(read, has_certain_times=order.is_certain)


def _lines(text: str) -> tuple[list[_Line], int]:
    """Return the messages with the lines that go on, and the number of notices, which have no author."""
    lines: list[_Line] = []
    current: _Line | None = None
    notices = 0
    for raw in text.split("\n"):
        stamp = stamp_of(raw.rstrip("\r"))
        if stamp is None:
            if current is not None:
                current.words.append(raw.rstrip("\r"))
            continue
        said = _AUTHOR.match(stamp.rest)
        current = _begun(stamp, said) if said is not None and not _is_in_quotation(said) else None
        if current is None:
            notices += 1
        else:
            lines.append(current)
    return lines, notices


def _is_in_quotation(said: re.Match[str]) -> bool:
    """Return whether the colon stands in the name of a group that a notice quotes: ``Ann created "Trip: Rome"``."""
    author, words = said["author"], said["words"] or ""
    is_open = any(author.count(begin) > author.count(end) and end in words for begin, end in _QUOTATIONS)
    return is_open or any(author.count(mark) % 2 and mark in words for mark in '"”')


def _begun(stamp: Stamp, said: re.Match[str]) -> _Line:
    words = [said["words"] or ""]
    return _Line(stamp.date, stamp.hour, stamp.minute, stamp.second, said["author"].strip(), words, stamp.is_american)


def _mark_notices(lines: Sequence[_Line]) -> int:
    """Mark the notices among messages, and return the number of lines that begin as notices do and are kept."""
    people = {line.author for line in lines}
    writers = {line.author for line in lines if not line.words[0].startswith(MARK)}
    kept = 0
    for line in lines:
        words = "\n".join(line.words).strip()
        if words.startswith(MARK):
            line.is_notice = is_notice(words, people, is_group=line.author not in writers)
            kept += not line.is_notice and _words(line)[0] == words.replace(MARK, "").strip()
    return kept


def _days(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines of each day, by the dates as they are written, so that their order does not matter."""
    day: list[_Line] = []
    current: tuple[tuple[int, ...], bool] | None = None
    written = ("", "", "")
    for line in lines:
        is_night = line.hour < _DAY_BEGINS
        if is_night and current is not None and _may_follow(written, line.date):
            named = current
        else:
            named, written = (_numbers(line.date), is_night), line.date
        if day and named != current:
            yield day
            day = []
        current = named
        day.append(line)
    if day:
        yield day


def _may_follow(before: Numbers, after: Numbers) -> bool:
    """Return whether a date may be the day after another one, in some order of day and month."""
    for order in DateOrder:
        try:
            if date(*parts(after, order)) - date(*parts(before, order)) == timedelta(days=1):
                return True
        except (ValueError, OverflowError):
            continue
    return False


def _id_of(day: Sequence[_Line]) -> str:
    """Return an id of the first words of a day that do not stand for a file."""
    spoken = [line for line in day if (words := _words(line)[0]) and not words.startswith("[attached: ")]
    first = (spoken or day)[0]
    return derived_id("whatsapp", *_stamp(first), first.author, "\n".join(first.words).strip())


def _stamp(line: _Line) -> tuple[object, ...]:
    """Return the date and the minute of a line, however many digits its phone writes."""
    return (*_numbers(line.date), line.hour, line.minute)


def _numbers(written: Numbers) -> tuple[int, ...]:
    return tuple(int(number) % 100 for number in written)


def _messages(lines: Sequence[_Line], order: DateOrder, name: str) -> Iterator[Spoken]:
    seen: Counter[str] = Counter()
    for line in lines:
        words, left_out = _words(line)
        if words is None:
            yield ImportNote(left_out, 1)
            continue
        time: datetime | None = None
        try:
            if is_lunar(line.date, order):
                yield ImportNote(_UNREAD_DATE, 1)
            else:
                time = datetime(*parts(line.date, order), line.hour, line.minute, line.second, tzinfo=UTC)
        except (ValueError, OverflowError) as error:
            yield RejectedItem(f"{name}, {'/'.join(line.date)}", f"its date does not exist ({error})")
            continue
        key = derived_id("m", *_stamp(line), line.author, words)
        seen[key] += 1
        external_id = key if seen[key] == 1 else f"{key}-{seen[key]}"
        yield IncomingMessage(Role.USER, words, line.author, external_id, occurred_at=time)


def _words(line: _Line) -> tuple[str | None, str]:
    """Return the words of a message, or None and the name of the part that was left out."""
    text = "\n".join(line.words).strip()
    if (captioned := _CAPTIONED.search(text)) is None:
        text = _EDITED.sub("", text).strip()
        captioned = _CAPTIONED.search(text)
    if captioned is not None and (caption := text[: captioned.start()].replace(MARK, "").strip()):
        return f"{caption}\n[attached: {captioned['named']}]", _LEFT_OUT
    attached = ATTACHED.match(text)
    if attached is not None:
        caption = text[attached.end() :].strip()
        named = next(name for name in attached.groups() if name)
        text = f"[attached: {named}]" + (f"\n{caption}" if caption else "")
    elif is_deleted(text):
        return None, _DELETED
    elif is_omission(text):
        return None, _WITHOUT_FILE
    elif line.is_notice or not text:
        return None, _LEFT_OUT
    return text.replace(MARK, "").strip() or None, _LEFT_OUT


def _title(name: str) -> str | None:
    """Return the chat's name by the names of the zip and of the file."""
    for piece in reversed(PurePath(name).parts):
        match = _NAME.fullmatch(re.sub(r"(\.(txt|zip))+$", "", piece, flags=re.IGNORECASE).strip())
        if match is not None:
            return (match["name"] or match["other"]).strip()
    return None
