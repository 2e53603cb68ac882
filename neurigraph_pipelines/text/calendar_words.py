"""Words for dates in English text: months, weekdays, seasons, counts, and the patterns that find them.

``retrieval.query.time_phrases`` interprets the phrases in search queries. ``resources.offline.dates`` reads stored text
with words of its own for each language, and shares the arithmetic of weekdays.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
MONTHS_SHORT = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
SEASONS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "fall": (9, 10, 11), "winter": (12, 1, 2)}
"""The months of each season. A winter is named after the year in which it begins."""

_WORDED = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_NUMBERS = {word: number for number, word in enumerate(_WORDED.split(" "))} | {
    "a": 1,
    "an": 1,
    "couple": 2,
    "a couple": 2,
    "a couple of": 2,
    "couple of": 2,
    "a few": 3,
    "few": 3,
    "several": 3,
}

_LETTERS = str.maketrans("İıſ\u212a", "iisk")
"""Letters that patterns without regard to case take for those of the alphabet; the last is the sign of the kelvin."""

MONTH = rf"(?P<month>{'|'.join([*MONTHS, *(m + '[.]?' for m in MONTHS_SHORT if m != 'may')])})"
DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"

FOREIGN_DATE = re.compile(r"\b[0-3]?\d\.? (?:de )?[^\W\d_]{3,12}\.? (?:de )?(?:19|20)\d\d\b")
"""A possible date with a month name of another language, such as ``8 mai 2023``."""


def plain(words: str) -> str:
    """Return words matched without regard to case, in the lower case of the pattern."""
    return " ".join(words.translate(_LETTERS).lower().split())


def month_number(name: str) -> int:
    """Return the number of a month, 1 to 12, by its name or abbreviation."""
    short = plain(name).rstrip(".")
    return MONTHS.get(short) or MONTHS_SHORT[short]


def count_of(words: str) -> int:
    """Return the number that ``COUNT`` matched, in digits or in words."""
    return int(words) if words.isdigit() else _NUMBERS[plain(words)]


def weekday_before(today: date, weekday: int) -> date:
    """Return the latest day before ``today`` that falls on ``weekday`` (0 is Monday)."""
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def weekend_before(today: date) -> date:
    """Return the Saturday of the last completed weekend; a Sunday's own weekend is not complete."""
    return today - timedelta(days=today.weekday() + 2 if today.weekday() != 6 else 8)


@lru_cache(maxsize=256)
def foreign_date(words: str, spoken_on: date) -> date | None:
    """Return the date that ``FOREIGN_DATE`` matched, or None if dateparser knows it in no language."""
    import dateparser

    base = datetime.combine(spoken_on, time.min)
    parsed = dateparser.parse(words, settings={"RELATIVE_BASE": base, "STRICT_PARSING": True})
    return None if parsed is None else parsed.date()
