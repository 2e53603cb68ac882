"""Calendars (.ics): each event, task and journal entry as one sentence with its time, place and people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any, BinaryIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import Part, Piece, grouped

_KINDS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "entry"}
_TIMES = ("DTSTART", "DTEND", "DUE", "DURATION")
_SAID = {"LOCATION": "at", "STATUS": "status", "RRULE": "repeats", "DESCRIPTION": "notes", "URL": "see"}


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of entries."""
    from icalendar import Calendar

    found = Calendar.from_ical(open_text(stream, facts).read(), multiple=True)
    calendars = found if isinstance(found, list) else [found]
    if not calendars:
        raise ValueError("there is no calendar in it")
    yield from grouped(_entries(calendars, facts), "entries")


def _entries(calendars: list[Any], facts: dict[str, str]) -> Iterator[Piece]:
    broken = 0
    for calendar in calendars:
        name = str(calendar.get("X-WR-CALNAME") or "").strip() or None
        for entry in calendar.walk():
            if entry.name in _KINDS:
                unread = _unread(entry)
                broken += len(unread)
                yield "; ".join((_sentence(entry), *unread)), name
    if broken:
        facts["times not readable"] = f"{broken:,}"


def _sentence(entry: Any) -> str:
    title = _text_of(entry.get("SUMMARY")) or f"{_KINDS[entry.name]} without a name"
    parts = [f"{time}: {title}" if (time := _time(entry)) else title]
    for name, word in _SAID.items():
        if text := _text_of(entry.get(name)):
            parts.append(f"{word} {text}")
    people = [_person(one) for name in ("ORGANIZER", "ATTENDEE") for one in _listed(entry.get(name))]
    if people:
        parts.append(f"with {', '.join(dict.fromkeys(people))}")
    return "; ".join(parts)


def _time(entry: Any) -> str:
    """Return from when to when; the end of whole days is the last of them."""
    start, end = (_value(entry, name) for name in ("DTSTART", "DTEND"))
    due = _value(entry, "DUE")
    if end is None and start is not None and isinstance(length := _value(entry, "DURATION"), timedelta):
        end = start + length
    if type(end) is date and end != start:
        end -= timedelta(days=1)
    if start is None:
        return f"due {_moment(due)}" if due is not None else ""
    if end is None or end == start:
        return _moment(start) + (f", due {_moment(due)}" if due is not None else "")
    same_day = isinstance(start, datetime) and isinstance(end, datetime) and start.date() == end.date()
    last = f"{end:%H:%M}" if same_day else _moment(end)
    return f"{_moment(start)} to {last}"


def _value(entry: Any, name: str) -> Any:
    """Return the first value of a name; None if the value is missing or unreadable."""
    return next((one.dt for one in _listed(entry.get(name)) if not isinstance(one, str) and hasattr(one, "dt")), None)


def _unread(entry: Any) -> list[str]:
    """Return the times of an entry that are not readable, as they are written."""
    found = ((name, one) for name in _TIMES for one in _listed(entry.get(name)) if isinstance(one, str))
    return [f"{name.lower()} not readable: {text}" for name, one in found if (text := _text_of(one))]


def _moment(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    zone = getattr(value.tzinfo, "key", None) or (value.tzname() if value.tzinfo else "")
    return f"{value:%Y-%m-%d %H:%M} {zone}".strip()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(value: Any) -> str:
    name = str(getattr(value, "params", {}).get("CN") or "")
    return name or str(value).removeprefix("mailto:").removeprefix("MAILTO:")


def _text_of(value: Any) -> str:
    """Return the values of a name as one line; a rule of repetition as the file writes it."""
    found = _listed(value)
    texts = (str(one) if isinstance(one, str) else one.to_ical().decode("utf-8", "replace") for one in found)
    return "; ".join(filter(None, (" ".join(text.split()) for text in texts)))
