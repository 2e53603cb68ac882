"""How dates are spelt: months, days, seasons, counts, and the patterns that find them in English text.

Shared by whoever reads dates out of text. What a phrase means is decided there: in what was said by
``resources.offline.dates``, in what is asked by ``retrieval.time_phrases``.
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
"""The months of each season; a winter is named after the year in which it begins."""

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

MONTH = rf"(?P<month>{'|'.join([*MONTHS, *(m + '[.]?' for m in MONTHS_SHORT if m != 'may')])})"
DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})"

FOREIGN_DATE = re.compile(r"\b[0-3]?\d\.? (?:de )?[^\W\d_]{3,12}\.? (?:de )?(?:19|20)\d\d\b")
"""What may be a day with a month of another language, such as ``8 mai 2023``."""


def month_number(name: str) -> int:
    """1 to 12 of a month by its name or abbreviation."""
    short = name.lower().rstrip(".")
    return MONTHS.get(short) or MONTHS_SHORT[short]


def count_of(words: str) -> int:
    """The number that ``COUNT`` found, in figures or in words."""
    return int(words) if words.isdigit() else _NUMBERS[" ".join(words.lower().split())]


def weekday_before(today: date, weekday: int) -> date:
    """The latest day before today that is of that weekday (0 is Monday)."""
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def weekend_before(today: date) -> date:
    """Saturday of the last weekend that is over or, on a Sunday, of the one before."""
    return today - timedelta(days=today.weekday() + 2 if today.weekday() != 6 else 8)


@lru_cache(maxsize=256)
def foreign_date(words: str, spoken_on: date) -> date | None:
    """The day that ``FOREIGN_DATE`` found, if it is one in any language that dateparser knows."""
    import dateparser

    base = datetime.combine(spoken_on, time.min)
    parsed = dateparser.parse(words, settings={"RELATIVE_BASE": base, "STRICT_PARSING": True})
    return None if parsed is None else parsed.date()
