"""Periods that a question names, such as ``last May`` or ``between March and June``.

Pure functions of the words and of the moment at which they are asked; days begin in its zone. English by fixed rules,
explicit dates of other languages through dateparser. People often speak of a time at another time, so a
ranking may prefer these periods and must not exclude by them.

Questions look back: a day or month without a year is the latest that has begun, and those of the years before it,
since memories may be old. ``before the move`` needs the time of a memory: ``event_phrases`` finds the words, and
``period_around`` gives the period once the time is known. Dates within conversations are found by
``resources.offline.dates``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import islice, takewhile
from typing import TypeVar

from neurigraph_pipelines.text.calendar_words import COUNT, count_of, plain
from neurigraph_pipelines.text.day_expressions import ONE_DAY, Expression, expressions
from neurigraph_pipelines.views.search import Period

MAX_PHRASES = 8
"""Most phrases of one question that are read; with more it is not a question about a time."""

YEARS_BACK = 5
"""How many years words without a year may mean."""

MAX_EVENT_WORDS = 6
"""Most words after the article by which an event is looked up."""


@dataclass(frozen=True, slots=True)
class EventPhrase:
    """Words that place a question before or after an event.

    Attributes:
        relation: ``before`` or ``after``.
        event: The event, such as ``the wedding``.
        words: The whole phrase, such as ``after the wedding``.
        apart: The distance from the event to the nearer and to the farther end of the period; None if it is open.
    """

    relation: str
    event: str
    words: str
    apart: tuple[timedelta, timedelta] | None = None


def time_phrases(text: str, now: datetime) -> list[Period]:
    """Return the periods that a question names, in order.

    Args:
        text: A question of at most a few thousand characters.
        now: When it is asked, with a zone: days begin there.

    Returns:
        The periods of at most ``MAX_PHRASES`` phrases, in the zone of ``now``, none empty.
    """
    today = now.date()
    found = expressions(text, today)
    periods: list[Period] = []
    number = phrases = 0
    while number < len(found) and phrases < MAX_PHRASES:
        here, following = found[number], found[number + 1] if number + 1 < len(found) else None
        number += 1
        named = list(_in_all_years(partial(_pair, text, here, following), now))
        if named:
            number += 1
        else:
            named = list(_in_all_years(partial(_single, text, here), now))
        phrases += bool(named)
        periods += named
    return list(dict.fromkeys(periods))


def asks_when(question: str) -> bool:
    """Return whether a question asks for a time, such as "when" or "in which year"."""
    return _ASKS_WHEN.match(question) is not None


def event_phrases(text: str) -> list[EventPhrase]:
    """Return phrases such as ``before the move`` whose time only the memories know, in order.

    ``during the walk`` is not one: its words find messages about the walk better than a guessed time does.
    """
    found = []
    for match in islice(_EVENT.finditer(text), MAX_PHRASES):
        article, *following = match["event"].split()
        words = list(takewhile(lambda word: word.lower() not in _BREAKS, following))[:MAX_EVENT_WORDS]
        while words and words[-1].lower() in _TRAILING:
            words.pop()
        if words and words[0].lower() not in _NO_EVENTS and not words[0][0].isdigit():
            event = " ".join([article, *words])
            said = " ".join(f"{text[match.start() : match.start('event')]} {event}".split())
            found.append(EventPhrase(_RELATIONS[plain(match["relation"])], event, said, _apart(match)))
    return found


def period_around(phrase: EventPhrase, happened_at: datetime) -> Period:
    """Return the period of an event phrase whose time is known; it includes the day of the event."""
    day = datetime.combine(happened_at.date(), time.min, happened_at.tzinfo)
    start, end = (None, day + ONE_DAY) if phrase.relation == "before" else (day, None)
    if phrase.apart is not None:
        start, end = _beside(day, day + ONE_DAY, phrase.relation, phrase.apart)
    return Period(words=phrase.words, starts_at=start, ends_at=end, certain=False)


def _apart(match: re.Match[str]) -> tuple[timedelta, timedelta] | None:
    """Return the distances of a phrase such as ``two weeks before``: one week and two weeks."""
    if match["unit"] is None:
        return None
    unit = timedelta(days={"d": 1, "w": 7, "m": 30, "y": 365}[plain(match["unit"])[0]])
    count = count_of(match["count"]) if match["count"] else 1
    return (count - 1) * unit, count * unit


_Moment = TypeVar("_Moment", date, datetime)


def _beside(start: _Moment, end: _Moment, relation: str, apart: tuple[timedelta, timedelta]) -> tuple[_Moment, _Moment]:
    """Return the period at these distances before or after another."""
    near, far = apart
    return (start - far, start - near) if relation == "before" else (end + near, end + far)


def _years_before(day: date, years: int) -> date:
    leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - years, day=28 if leap_day and years else day.day)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The first day and the day after the last, either may be open, and the words that name them."""

    days: tuple[date | None, date | None]
    words: str
    certain: bool
    yearless: bool = False


_Reading = Callable[[date], _Bounds | None]
"""Returns the days of a phrase; if several years fit, those of the latest that has begun by a given day."""


def _in_all_years(reading: _Reading, now: datetime) -> Iterator[Period]:
    """Yield the period of a phrase and, if it fits every year, those of the years before."""
    today = now.date()
    for years in range(YEARS_BACK):
        try:
            bounds = reading(_years_before(today, years))
            if bounds is None:
                return
            start, end = (None if day is None else datetime.combine(day, time.min, now.tzinfo) for day in bounds.days)
        except (ValueError, OverflowError):  # such as 31 February, or a year before the calendar
            return
        words = " ".join(bounds.words.split())
        yield Period(words=words, starts_at=start, ends_at=end, certain=bounds.certain)
        if not bounds.yearless or None in bounds.days:
            return


def _pair(text: str, here: Expression, following: Expression | None, by: date) -> _Bounds | None:
    """Read a pair such as ``between March and June`` or ``from 3 May to 8 May``."""
    before = _PAIR_OPENS.search(text, max(0, here.start - 20), here.start)
    if following is None or before is None or not _PAIR_JOINS.fullmatch(text, here.end, following.start):
        return None
    until = following.days(by)
    since = here.days(until.first)
    if since.first > until.last:
        return None
    return _Bounds(
        (since.first, until.last + ONE_DAY),
        text[before.start() : following.end],
        until.certain and (since.certain or since.yearless),
        until.yearless,
    )


def _single(text: str, here: Expression, by: date) -> _Bounds | None:
    """Read a single expression such as ``since Christmas``, ``in early 2022`` or ``yesterday``."""
    days = here.days(by)
    before = _OPERATOR.search(text, max(0, here.start - 60), here.start)
    if before is None:
        if days.loose:
            return None
        words, relation, part, apart = text[here.start : here.end], "", None, None
    else:
        words = text[before.start() : here.end]
        relation, part = plain(before["relation"] or ""), before["part"] or before["alone"]
        apart = _apart(before)
    if part:
        days = days.part(plain(part))
    if apart is not None and relation in _RELATIONS:
        beside = _beside(days.first, days.last + ONE_DAY, _RELATIONS[relation], apart)
        return _Bounds(beside, words, days.certain, days.yearless)
    bounds = {
        "since": (days.first, None),
        "no earlier than": (days.first, None),
        "after": (days.last + ONE_DAY, None),
        "later than": (days.last + ONE_DAY, None),
        "before": (None, days.first),
        "prior to": (None, days.first),
        "earlier than": (None, days.first),
        "no later than": (None, days.last + ONE_DAY),
        "until": (None, days.last + ONE_DAY),
        "till": (None, days.last + ONE_DAY),
        "by": (None, days.last + ONE_DAY),
        "up to": (None, days.last + ONE_DAY),
    }.get(relation, (days.first, days.last + ONE_DAY))
    return _Bounds(bounds, words, days.certain, days.yearless)


_PART = r"(?:(?P<{}>early|late|mid|middle|beginning|start|end)(?:\s+of)?(?:\s+the)?[\s-]+)"
_DISTANCE = rf"(?:(?:the|{COUNT})\s+(?P<unit>day|week|month|year)s?\s+)?"
_OPERATOR = re.compile(
    rf"\b(?:(?:{_DISTANCE}"
    r"(?P<relation>since|after|before|until|till|by|up to|prior to|(?:no )?later than|(?:no )?earlier than)|"
    rf"in|on|at|from|during|around|over|within|throughout)\s+(?:the\s+)?{_PART.format('part')}?(?:year\s+)?|"
    rf"{_PART.format('alone')})$",
    re.IGNORECASE,
)
_PAIR_OPENS = re.compile(r"\b(?:between|from)\s+(?:the\s+)?$", re.IGNORECASE)
_PAIR_JOINS = re.compile(r"\s+(?:and|to|until|till|through|up to)\s+(?:the\s+)?|\s*[-–]\s*", re.IGNORECASE)

_ASKS_WHEN = re.compile(
    r"\s*(?:when|how long|(?:(?:in|on|at|since|until) )?(?:what|which) (?:day|date|week|month|year|time))\b",
    re.IGNORECASE,
)
_RELATIONS = {
    "before": "before",
    "prior to": "before",
    "until": "before",
    "till": "before",
    "leading up to": "before",
    "after": "after",
    "since": "after",
    "following": "after",
}
_EVENT = re.compile(
    rf"\b{_DISTANCE}(?P<relation>{'|'.join(_RELATIONS)})\s+"
    r"(?P<event>(?:the|my|our|his|her|their|your|[^\W\d_]{2,30}['’]s)(?:\s+[^\W_][\w'’-]{0,30}){1,9})",
    re.IGNORECASE,
)
_BREAKS = frozenset(
    "and or but who what when where why how do does did is are was were has have had can could will would should i we "
    "he she they you it that which said say told about yesterday today tomorrow last this next".split()
)
_TRAILING = frozenset("a an the my our his her their your to in on at for of with from by".split())
_NO_EVENTS = frozenset(
    "day days week weekend month year end fact start beginning time first last next past same one ones other others "
    "early late morning evening night summer winter spring autumn fall "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)
