"""Expressions for whole days in a text, such as ``8 May``, ``last week`` or ``two weekends ago``.

Finds the words and computes the days. ``time_phrases`` reads prepositions and pairs (``since``, ``between … and``).
English by fixed rules, explicit dates of other languages through dateparser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from neurigraph_pipelines.text.calendar_words import (
    COUNT,
    DAY,
    FOREIGN_DATE,
    MONTH,
    SEASONS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    count_of,
    foreign_date,
    month_number,
    plain,
    weekday_before,
    weekend_before,
)

MAX_EXPRESSIONS = 16
"""Most expressions that are read in one text."""

ONE_DAY = timedelta(days=1)
_FIXED_DAYS = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "new year's": (1, 1),
    "new year": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
}
_DAYS_AFTER_EASTER = {"good friday": -2, "easter sunday": 0, "easter monday": 1, "easter": 0}
_THANKSGIVING = "thanksgiving"
_VAGUE = frozenset({"a few", "few", "several"})
_NEAR_DAYS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days, both included.

    Attributes:
        loose: The words name a time only after a preposition, such as ``may`` or ``2023``.
        yearless: They fit every year.
    """

    first: date
    last: date
    certain: bool = True
    loose: bool = False
    yearless: bool = False

    def part(self, word: str) -> Days:
        """Return the first, middle or last third."""
        third = (self.last - self.first + ONE_DAY) // 3
        if word in ("early", "beginning", "start"):
            return replace(self, last=self.first + third, certain=False)
        if word in ("late", "end"):
            return replace(self, first=self.last - third, certain=False)
        return replace(self, first=self.first + third, last=self.last - third, certain=False)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression for days in a text; ``days`` returns the latest that have begun by a given day."""

    start: int
    end: int
    days: Callable[[date], Days]


_Resolver = Callable[[re.Match[str], date, date], Days]
"""Takes a match, today, and the day by which the days must have begun if several years fit."""


def expressions(text: str, today: date) -> list[Expression]:
    """Return the expressions of a text in order; where two rules match, the earlier rule wins."""
    taken: list[Expression] = []
    for pattern, resolver in _RULES:
        for match in pattern.finditer(text):
            if len(taken) == MAX_EXPRESSIONS:
                break
            if not any(match.start() < other.end and other.start < match.end() for other in taken):
                taken.append(_expression(match, resolver, today))
    return sorted(taken, key=lambda expression: expression.start)


def _expression(match: re.Match[str], resolver: _Resolver, today: date) -> Expression:
    return Expression(match.start(), match.end(), lambda begun_by: resolver(match, today, begun_by))


def _iso_day(match: re.Match[str], _today: date, _by: date) -> Days:
    return _day(date(int(match["year"]), int(match["m"]), int(match["d"])))


def _slashed(match: re.Match[str], _today: date, _by: date) -> Days:
    first, second = int(match["m"]), int(match["d"])
    month, day = (first, second) if first <= 12 else (second, first)
    return _day(date(int(match["year"]), month, day), certain=first == second or max(first, second) > 12)


def _foreign_day(match: re.Match[str], today: date, _by: date) -> Days:
    found = foreign_date(match.group(), today)
    if found is None:
        raise ValueError(f"{match.group()!r} is no date")
    return _day(found)


def _iso_month(match: re.Match[str], _today: date, _by: date) -> Days:
    return _month(int(match["year"]), int(match["m"]))


def _day_of_month(match: re.Match[str], _today: date, by: date) -> Days:
    month, day = month_number(match["month"]), int(match["day"])
    if match["year"]:
        return _day(date(int(match["year"]), month, day))
    for year in range(by.year, by.year - 9, -1):  # there is a 29 February at least every eighth year
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found <= by:
            return Days(found, found, certain=False, yearless=True)
    raise ValueError(f"no day {day} of month {month}")


def _month_and_year(match: re.Match[str], _today: date, _by: date) -> Days:
    return _month(int(match["year"]), month_number(match["month"]))


def _relative_month(match: re.Match[str], today: date, _by: date) -> Days:
    month, word = month_number(match["month"]), plain(match["word"])
    year = today.year
    if word == "last":
        year -= month >= today.month
    elif word in ("next", "this coming"):
        year += month <= today.month
    return _month(year, month, certain=False)


def _bare_month(match: re.Match[str], _today: date, by: date) -> Days:
    month = month_number(match["month"])
    days = _month(by.year - (date(by.year, month, 1) > by), month, certain=False)
    return replace(days, loose=True, yearless=True)


def _season(match: re.Match[str], today: date, by: date) -> Days:
    months = SEASONS[plain(match["season"])]
    word = plain(match["word"] or "")
    if match["year"]:
        return _season_of(int(match["year"]), months)
    # The latest that has begun, so in January the winter of the year before.
    year = by.year - (date(by.year, months[0], 1) > by)
    if word == "last" and _season_of(year, months).last >= today:
        year -= 1
    elif word == "next":
        year += 1
    days = _season_of(year, months)
    return replace(days, certain=False, loose=not word, yearless=not word)


def _in_relative_year(match: re.Match[str], today: date, _by: date) -> Days:
    year = today.year + {"last": -1, "previous": -1, "this": 0, "next": 1}[plain(match["word"])]
    return (
        _season_of(year, SEASONS[plain(match["season"])])
        if match["season"]
        else _month(year, month_number(match["month"]))
    )


def _seasons_ago(match: re.Match[str], today: date, _by: date) -> Days:
    months = SEASONS[plain(match["season"])]
    latest = today.year
    while _season_of(latest, months).last >= today:
        latest -= 1
    return replace(_season_of(latest + 1 - count_of(match["count"]), months), certain=False)


def _season_of(year: int, months: tuple[int, ...]) -> Days:
    return Days(date(year, months[0], 1), _month(year + (months[-1] < months[0]), months[-1]).last)


def _quarter(match: re.Match[str], _today: date, by: date) -> Days:
    first = 3 * int(match["quarter"]) - 2
    year = int(match["year"]) if match["year"] else by.year - (date(by.year, first, 1) > by)
    given = bool(match["year"])
    return Days(date(year, first, 1), _month(year, first + 2).last, certain=given, yearless=not given)


def _holiday(match: re.Match[str], _today: date, by: date) -> Days:
    name = plain(match["holiday"]).replace("’", "'")
    year = int(match["year"]) if match["year"] else by.year - (_holiday_in(by.year, name) > by)
    return replace(_day(_holiday_in(year, name), certain=bool(match["year"])), yearless=not match["year"])


def _holiday_in(year: int, name: str) -> date:
    if name == _THANKSGIVING:  # the fourth Thursday
        return date(year, 11, 28 - date(year, 11, 4).weekday())
    if name in _DAYS_AFTER_EASTER:
        return _easter(year) + timedelta(days=_DAYS_AFTER_EASTER[name])
    return date(year, *_FIXED_DAYS[name])


def _easter(year: int) -> date:
    """Return Easter Sunday of the western churches (Meeus, Astronomical Algorithms, 1991, chapter 8)."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    corrected = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - corrected + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - epact - of_century % 4) % 7
    month, day = divmod(epact + weekday - 7 * ((golden + 11 * epact + 22 * weekday) // 451) + 114, 31)
    return date(year, month, day + 1)


def _ago(match: re.Match[str], today: date, _by: date) -> Days:
    count, unit = count_of(match["count"]), plain(match["unit"])
    for name, number in WEEKDAYS.items():
        if unit.startswith(name):
            return _day(weekday_before(today, number) - timedelta(weeks=count - 1))
    if plain(match["count"]) in _VAGUE:
        return Days(_unit_ago(unit, 5, today).first, _unit_ago(unit, 2, today).last, certain=False)
    return _unit_ago(unit, count, today)


def _half_years_ago(match: re.Match[str], today: date, _by: date) -> Days:
    return _unit_ago("month", 18 if match["more"] else 6, today)


def _before_last(match: re.Match[str], today: date, _by: date) -> Days:
    return _unit_ago(plain(match["unit"]), 2, today)


def _unit_ago(unit: str, count: int, today: date) -> Days:
    """Return the day, weekend, week (from Monday), fortnight, month or year that many units ago."""
    if unit.startswith("fortnight"):
        return _unit_ago("week", 2 * count, today)
    if unit.startswith("day"):
        return _day(today - timedelta(days=count))
    if unit.startswith("weekend"):
        saturday = weekend_before(today) - timedelta(weeks=count - 1)
        return Days(saturday, saturday + ONE_DAY)
    if unit.startswith("week"):
        monday = today - timedelta(days=today.weekday(), weeks=count)
        return Days(monday, monday + timedelta(days=6))
    if unit.startswith("month"):
        year, month = divmod(today.year * 12 + today.month - 1 - count, 12)
        return _month(year, month + 1)
    return _year_of(today.year - count)


def _rolling(match: re.Match[str], today: date, _by: date) -> Days:
    """Return that many units up to today, as in ``the past three weeks``."""
    count = count_of(match["count"]) if match["count"] else 1
    vague = plain(match["count"] or "") in _VAGUE
    unit = plain(match["unit"])
    length = {"d": 1, "w": 7, "m": 30.44, "y": 365.25}[unit[0]]
    return Days(today - timedelta(days=round(length * (count + 2 if vague else count))), today, certain=not vague)


def _relative_unit(match: re.Match[str], today: date, _by: date) -> Days:
    word, unit = plain(match["word"]).split()[-1], plain(match["unit"])
    count = {"last": 1, "previous": 1, "this": 0, "next": -1, "coming": -1}[word]
    if unit == "weekend" and count < 1:
        saturday = today + timedelta(days=5 - today.weekday()) - timedelta(weeks=count)
        return Days(saturday, saturday + ONE_DAY)
    return _unit_ago(unit, count, today)


def _near_day(match: re.Match[str], today: date, _by: date) -> Days:
    return _day(today + timedelta(days=_NEAR_DAYS[plain(match.group())]))


def _weekday(match: re.Match[str], today: date, _by: date) -> Days:
    number, word = WEEKDAYS[plain(match["weekday"])], plain(match["word"] or "")
    if word in ("next", "this coming"):
        return _day(weekday_before(today, number) + timedelta(weeks=1 + (number == today.weekday())), certain=False)
    return _day(weekday_before(today, number), certain=word == "last")


def _bare_weekend(_match: re.Match[str], today: date, _by: date) -> Days:
    saturday = weekend_before(today)
    return Days(saturday, saturday + ONE_DAY, certain=False, loose=True)


def _bare_year(match: re.Match[str], _today: date, _by: date) -> Days:
    return replace(_year_of(int(match["year"])), loose=True)


def _day(day: date, *, certain: bool = True) -> Days:
    return Days(day, day, certain)


def _month(year: int, month: int, *, certain: bool = True) -> Days:
    following = date(year + month // 12, month % 12 + 1, 1)
    return Days(date(year, month, 1), following - ONE_DAY, certain)


def _year_of(year: int) -> Days:
    return Days(date(year, 1, 1), date(year, 12, 31))


def _rules() -> Iterator[tuple[re.Pattern[str], _Resolver]]:
    """Yield the rules, longer and surer forms first: words that one rule matches are closed to the next."""

    def rule(pattern: str, resolver: _Resolver) -> tuple[re.Pattern[str], _Resolver]:
        return re.compile(pattern, re.IGNORECASE), resolver

    weekday = rf"(?:(?:{'|'.join(WEEKDAYS)}),? (?:the )?)?"
    units = r"(?P<unit>days?|weekends?|weeks?|fortnights?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
    seasons = f"(?P<season>{'|'.join(SEASONS)})"
    names = sorted([*_FIXED_DAYS, *_DAYS_AFTER_EASTER, _THANKSGIVING], key=len, reverse=True)
    holidays = "|".join(re.escape(name).replace("'", "['’]") for name in names)
    yield rule(r"\b(?P<year>(?:19|20)\d\d)-(?P<m>[01]\d)-(?P<d>[0-3]\d)(?!\d)", _iso_day)
    yield rule(r"\b(?P<year>(?:19|20)\d\d)/(?P<m>[01]?\d)/(?P<d>[0-3]?\d)\b", _iso_day)
    yield rule(r"\b(?P<m>[0-3]?\d)([/-])(?P<d>[0-3]?\d)\2(?P<year>(?:19|20)\d\d)\b", _slashed)
    yield rule(r"\b(?P<d>[0-3]?\d)\.(?P<m>[01]?\d)\.(?P<year>(?:19|20)\d\d)\b", _iso_day)
    yield rule(r"\b(?P<year>(?:19|20)\d\d)-(?P<m>[01]\d)\b(?!-)", _iso_month)
    yield rule(rf"\b{weekday}(?:the )?{DAY}(?: of)? {MONTH}\b(?:,? {YEAR}\b)?", _day_of_month)
    yield rule(rf"\b{weekday}{MONTH} (?:the )?{DAY}\b(?![:%\d])(?:,? {YEAR}\b)?", _day_of_month)
    yield rule(rf"\b{MONTH},? (?:of )?{YEAR}\b", _month_and_year)
    relative_year = r"(?:of |in )?(?P<word>last|previous|this|next) year"
    yield rule(rf"\b(?:{MONTH}|{seasons}),? {relative_year}\b", _in_relative_year)
    yield rule(FOREIGN_DATE.pattern, _foreign_day)
    yield rule(rf"\b(?P<word>last|next|this coming|this) {MONTH}\b", _relative_month)
    yield rule(rf"\b{COUNT} {seasons}s ago\b", _seasons_ago)
    yield rule(rf"\b(?:(?P<word>last|next|this) )?{seasons}(?: (?:of )?{YEAR})?\b", _season)
    yield rule(rf"\bQ(?P<quarter>[1-4])\b(?: (?:of )?{YEAR}\b)?", _quarter)
    yield rule(rf"\b(?:last )?(?P<holiday>{holidays})(?!\w)(?: (?:of |in )?{YEAR}\b)?", _holiday)
    halves = r"(?:half a year|(?P<more>(?:a|one) year and a half|one and a half years))"
    yield rule(rf"\b{halves} (?:ago|back|earlier)\b", _half_years_ago)
    yield rule(rf"\b{COUNT} {units} (?:ago|back|earlier)\b", _ago)
    yield rule(r"\b(?P<unit>weekend|week|month|year) before last\b", _before_last)
    yield rule(rf"\b(?:the )?(?:last|past) {COUNT} (?P<unit>days|weeks|months|years)\b", _rolling)
    yield rule(r"\b(?:the last|(?:the )?past)(?P<count>) (?P<unit>week|month|year)\b", _rolling)
    relative = r"(?P<word>last|previous|this coming|this|next|coming)"
    yield rule(rf"\b{relative} (?P<unit>weekend|week|month|year)\b", _relative_unit)
    yield rule(rf"\b(?:{'|'.join(sorted(_NEAR_DAYS, key=len, reverse=True))})\b", _near_day)
    yield rule(rf"\b(?:(?P<word>last|next|this coming|this) )?{WEEKDAY}\b(?!s)", _weekday)
    yield rule(r"\bweekend\b(?! (?:of|before|after)\b)", _bare_weekend)
    yield rule(rf"\b{MONTH}(?!\w)", _bare_month)
    yield rule(rf"(?:(?<=\bof )|(?<=\bfor )){YEAR}\b(?![-/.:]\d)", lambda match, *_: _year_of(int(match["year"])))
    yield rule(rf"\b{YEAR}\b(?![-/.:]\d)", _bare_year)


_RULES = list(_rules())
