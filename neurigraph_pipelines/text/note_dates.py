"""The date that a note states: in its name, as daily notes have it, or in a property."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.calendar_words import DAY, FOREIGN_DATE, MONTH, YEAR, foreign_date, month_number
from neurigraph_pipelines.text.hygiene import spoken, utc

_YEAR_FIRST = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<gap>[-_./ ]?)(?P<month>[01]\d)(?P=gap)(?P<day>[0-3]\d)(?!\d)"
)
_EASTERN = re.compile(r"(?P<year>(?:19|20)\d\d) ?[年년] ?(?P<month>\d{1,2}) ?[月월] ?(?P<day>\d{1,2}) ?[日일]")
_IN_FOLDERS = re.compile(r"(?:^|/)(?P<year>(?:19|20)\d\d)/(?P<month>[01]?\d)(?:[-_ .][^/]*)?/(?P<day>[0-3]?\d)$")
_MONTH_FIRST = re.compile(rf"{MONTH} {DAY},? {YEAR}", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"{DAY} {MONTH},? {YEAR}", re.IGNORECASE)
_NUMBERS = re.compile(r"(?P<first>\d{1,2})(?P<gap>[-_./])(?P<second>\d{1,2})(?P=gap)(?P<year>(?:19|20)\d\d)")
_TEXTS = (".md", ".markdown", ".txt")
_LONGEST = 40
_MOST_MONTHS = 12


def date_in_name(path: str) -> datetime | None:
    """Return the day that the name of a note begins with, or that it and its folders are; None for any other name.

    Raises:
        InvalidInputError: The name is a date whose day and month cannot be distinguished.
    """
    whole = path.rpartition(".")[0] or path
    name = whole.rpartition("/")[2].strip()
    for pattern in (_YEAR_FIRST, _EASTERN):
        if (found := pattern.match(name)) is not None:
            return _day(found)
    if (found := _IN_FOLDERS.search(whole)) is not None:
        return _day(found)
    return _written(name)


def day_of_file(name: str) -> datetime | None:
    """Return the day that the name of a text says; None for other files, and for a name with two readings."""
    if not name.lower().endswith(_TEXTS):
        return None
    try:
        return date_in_name(name)
    except InvalidInputError:
        return None


def stated_time(value: Any) -> datetime | None:
    """Return the time that a property states; None for nothing.

    Raises:
        InvalidInputError: It is not readable as a time, or its day and month cannot be distinguished.
    """
    if value is None or value == "":
        return None
    text = " ".join(str(value).split())
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(text)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, datetime):
            return spoken(value)
    except (ValueError, OverflowError):  # also an unusable year
        pass
    found = _YEAR_FIRST.match(text) or _EASTERN.match(text)
    time = _day(found) if found is not None else _written(text)
    if time is None:
        raise InvalidInputError(f"its date {text[:_LONGEST]!r} is not readable: write it as 2024-05-20")
    return time


def _written(text: str) -> datetime | None:
    """Return a day that is written with a month's name, or in numbers that allow one reading."""
    if (found := _NUMBERS.fullmatch(text)) is not None:
        return _of_numbers(text, found)
    for pattern in (_MONTH_FIRST, _DAY_FIRST):
        if (found := pattern.fullmatch(text)) is not None:
            return _day(found, month_number(found["month"]))
    if FOREIGN_DATE.fullmatch(text) is not None and (day := foreign_date(text, datetime.now(UTC).date())) is not None:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    return None


def _of_numbers(text: str, found: re.Match[str]) -> datetime | None:
    first, second = int(found["first"]), int(found["second"])
    if found["gap"] != "." and first != second and max(first, second) <= _MOST_MONTHS:
        year = found["year"]
        raise InvalidInputError(
            f"its date {text!r} is {year}-{first:02}-{second:02} or {year}-{second:02}-{first:02}: write the right one"
        )
    day, month = (second, first) if second > _MOST_MONTHS else (first, second)
    return _made(int(found["year"]), month, day)


def _day(found: re.Match[str], month: int | None = None) -> datetime | None:
    return _made(int(found["year"]), month or int(found["month"]), int(found["day"]))


def _made(year: int, month: int, day: int) -> datetime | None:
    try:
        return utc(datetime(year, month, day, tzinfo=UTC))
    except (ValueError, InvalidInputError):
        return None
