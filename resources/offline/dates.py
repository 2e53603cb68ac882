"""Dates mentioned in a text, resolved against the time of the text.

English phrases are resolved by rules, explicit dates in other languages by dateparser. Results are days
(``2023-05-07``), months (``2023-05``) and years (``2022``), never more precise than the text.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import islice

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
    weekday_before,
    weekend_before,
)

MAX_FOREIGN = 20
"""Most spans of one text that are passed to dateparser, which is slow."""

_PAST = re.compile(
    r"\b(?:was|were|did|didn't|had|went|got|came|saw|met|took|made|gave|found|bought|won|lost|left|\w{3,}ed)\b",
    re.I,
)
_FUTURE = re.compile(
    r"\b(?:will|won't|going to|gonna|shall|should|would|must|needs?|plans?|wants?|let's|deadline|due|appointment|"
    r"next|soon|tomorrow|\w+'ll|\w+'d)\b",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?\n]")
_CLAUSE_END = re.compile(r"[,;.!?\n]")

Resolver = Callable[[re.Match[str], date, str], list[str]]


def resolve_dates(text: str, spoken_at: datetime) -> list[str]:
    """Return every date in ``text``, in order, without repetition.

    Args:
        text: Free text; a few kilobytes at a time, such as one message.
        spoken_at: Time of the text; relative phrases count from its day.

    Returns:
        ISO days, months or years.
    """
    found: list[tuple[int, list[str]]] = []
    taken: list[tuple[int, int]] = []
    for pattern, resolver in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken):
                continue
            try:
                dates = resolver(match, spoken_at.date(), text)
            except (ValueError, OverflowError):
                continue  # such as 31 February, or a year before the calendar
            if dates:
                taken.append((start, end))
                found.append((start, dates))
    return list(dict.fromkeys(day for _, dates in sorted(found) for day in dates))


def foreign_spans(text: str) -> list[str]:
    """Return what may be explicit dates with month names in other languages, such as ``8 mai 2023``."""
    return [span.group() for span in islice(FOREIGN_DATE.finditer(text), MAX_FOREIGN)]


def foreign_dates(spans: Sequence[str], spoken_at: datetime) -> list[str]:
    """Return the dates among ``foreign_spans``."""
    days = [foreign_date(span, spoken_at.date()) for span in spans]
    return list(dict.fromkeys(day.isoformat() for day in days if day is not None))


def _iso_day(match: re.Match[str], _today: date, _text: str) -> list[str]:
    return [date(int(match["year"]), int(match["m"]), int(match["d"])).isoformat()]


def _iso_month(match: re.Match[str], _today: date, _text: str) -> list[str]:
    return [_month_of(int(match["year"]), int(match["m"]))]


def _slashed(match: re.Match[str], _today: date, _text: str) -> list[str]:
    first, second, year = int(match["m"]), int(match["d"]), int(match["year"])
    month, day = (first, second) if first <= 12 else (second, first)
    return [date(year, month, day).isoformat()]


def _day_of_month(match: re.Match[str], today: date, _text: str) -> list[str]:
    month, day = month_number(match["month"]), int(match["day"])
    if match["year"]:
        return [date(int(match["year"]), month, day).isoformat()]
    candidates = [
        date(today.year + shift, month, day) for shift in (-1, 0, 1) if _exists(today.year + shift, month, day)
    ]
    return [min(candidates, key=lambda near: abs((near - today).days)).isoformat()] if candidates else []


def _month_and_year(match: re.Match[str], _today: date, _text: str) -> list[str]:
    return [_month_of(int(match["year"]), month_number(match["month"]))]


def _named_month(match: re.Match[str], today: date, _text: str) -> list[str]:
    month, word = month_number(match["month"]), match["word"].lower().strip()
    if word == "last":
        return [_month_of(today.year - (month >= today.month), month)]
    if word in {"next", "this coming"}:
        return [_month_of(today.year + (month <= today.month), month)]
    if word == "this":
        return [_month_of(today.year, month)]
    years = (today.year - 1, today.year, today.year + 1)
    year = min(years, key=lambda y: abs((y - today.year) * 12 + month - today.month))
    return [_month_of(year, month)]


def _season(match: re.Match[str], today: date, _text: str) -> list[str]:
    months = SEASONS[match["season"].lower()]
    if match["year"]:
        year = int(match["year"])
    else:
        word = match["word"].lower()
        # A winter belongs to the year in which it begins, because its months are counted from December.
        begins_now = today.month in months
        year = today.year - (1 if begins_now and today.month < months[0] else 0)
        ahead = (months[0] - today.month) > 0 and not begins_now
        if word == "last":
            year -= 1 if ahead or begins_now else 0
        elif word == "next":
            year += 0 if ahead else 1
    return [_month_of(year + (month < months[0]), month) for month in months]


def _ago(match: re.Match[str], today: date, _text: str) -> list[str]:
    count, unit = count_of(match["count"]), match["unit"].lower()
    vague = "few" in match["count"].lower()
    if unit.startswith("day"):
        return [_day_or_month(today - timedelta(days=count), vague)]
    if unit.startswith("weekend"):
        return [(weekend_before(today) - timedelta(weeks=count - 1)).isoformat()]
    if unit.startswith("week"):
        return [_day_or_month(today - timedelta(weeks=count), vague=True)]
    if unit.startswith("month"):
        return [] if vague else [_shifted_month(today, -count)]
    if unit.startswith("year"):
        return [] if vague else [f"{today.year - count:04d}"]
    days = [day for day, number in WEEKDAYS.items() if unit.startswith(day)]
    return [(weekday_before(today, WEEKDAYS[days[0]]) - timedelta(weeks=count - 1)).isoformat()]


def _in_future(match: re.Match[str], today: date, _text: str) -> list[str]:
    count, unit = count_of(match["count"]), match["unit"].lower()
    vague = "few" in match["count"].lower()
    if unit.startswith("day"):
        return [_day_or_month(today + timedelta(days=count), vague)]
    if unit.startswith("week"):
        return [_day_or_month(today + timedelta(weeks=count), vague=True)]
    if vague:
        return []
    return [_shifted_month(today, count)] if unit.startswith("month") else [f"{today.year + count:04d}"]


def _relative_unit(match: re.Match[str], today: date, _text: str) -> list[str]:
    word, unit = match["word"].lower(), match["unit"].lower()
    sign = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[word.split()[-1]]
    if unit == "weekend":
        saturday = weekend_before(today) if sign < 0 else today + timedelta(days=(5 - today.weekday()) % 7)
        return [(saturday + timedelta(weeks=max(0, sign) if today.weekday() < 5 and word == "next" else 0)).isoformat()]
    if unit == "week":
        return [_month_of_day(today + timedelta(weeks=sign))]
    if unit == "month":
        return [_shifted_month(today, sign)]
    return [f"{today.year + sign:04d}"]


def _near_day(match: re.Match[str], today: date, _text: str) -> list[str]:
    phrase = " ".join(match.group().lower().split())
    shift = {"the day before yesterday": -2, "the day after tomorrow": 2, "last night": -1}.get(phrase)
    if shift is None:
        shift = {"yesterday": -1, "tomorrow": 1}.get(phrase.split()[0], 0)
    return [(today + timedelta(days=shift)).isoformat()]


def _weekday(match: re.Match[str], today: date, text: str) -> list[str]:
    number, word = WEEKDAYS[match["weekday"].lower()], (match["word"] or "").lower().strip()
    before = weekday_before(today, number)
    after = today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)
    if word in {"last", "past"}:
        return [before.isoformat()]
    if word in {"next", "this", "by", "until", "till", "this coming", "before"}:
        return [after.isoformat()]
    clause = _clause_around(text, match)
    return [(before if _PAST.search(clause) and not _FUTURE.search(clause) else after).isoformat()]


def _year(match: re.Match[str], _today: date, _text: str) -> list[str]:
    return [match["year"]]


def _rules() -> Iterator[tuple[re.Pattern[str], Resolver]]:
    """Yield the rules, longer and more certain forms first: a matched span is closed to later rules."""
    flags = re.IGNORECASE
    prefix = r"(?P<word>last|next|this coming|this|in|since|until|by|of|early|mid|late|during|around|before|after)[ -]"
    day_name = rf"(?:(?:{'|'.join(WEEKDAYS)}),? (?:the )?)?"
    unit = r"(?P<unit>days?|weekends?|weeks?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
    yield re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<m>[01]\d)-(?P<d>[0-3]\d)(?!\d)"), _iso_day
    yield re.compile(r"\b(?P<m>[0-3]?\d)/(?P<d>[0-3]?\d)/(?P<year>(?:19|20)\d\d)\b"), _slashed
    yield re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<m>[01]\d)\b(?!-)"), _iso_month
    yield re.compile(rf"\b{day_name}{DAY}(?: of)? {MONTH}\b(?:,? {YEAR}\b)?", flags), _day_of_month
    yield re.compile(rf"\b{day_name}{MONTH} {DAY}\b(?![:%\d])(?:,? {YEAR}\b)?", flags), _day_of_month
    yield re.compile(rf"\b{MONTH},? (?:of )?{YEAR}\b", flags), _month_and_year
    yield re.compile(rf"\b{prefix}{MONTH}\b", flags), _named_month
    yield (
        re.compile(rf"\b(?:(?P<word>last|next|this) )?(?P<season>{'|'.join(SEASONS)}) (?:of )?{YEAR}\b", flags),
        _season,
    )
    yield re.compile(rf"\b(?P<word>last|next|this) (?P<season>{'|'.join(SEASONS)})\b(?P<year>)", flags), _season
    yield re.compile(rf"\b(?:about |around )?{COUNT} {unit} (?:ago|back|earlier)\b", flags), _ago
    yield re.compile(rf"\bin (?:about )?{COUNT} (?P<unit>days?|weeks?|months?|years?)(?: time)?\b", flags), _in_future
    yield re.compile(rf"\b{COUNT} (?P<unit>days?|weeks?|months?|years?) from now\b", flags), _in_future
    yield (
        re.compile(
            r"\b(?P<word>the last|last|the past|past|previous|this past|this coming|this|next|the coming)"
            r" (?P<unit>weekend|week|month|year)\b",
            flags,
        ),
        _relative_unit,
    )
    yield (
        re.compile(
            r"\b(?:the day before yesterday|the day after tomorrow|yesterday|tomorrow|today|tonight|last night|"
            r"this (?:morning|evening|afternoon))\b",
            flags,
        ),
        _near_day,
    )
    yield (
        re.compile(
            rf"\b(?:(?P<word>last|past|next|this coming|this|by|until|till|before|on) )?{WEEKDAY}\b"
            r"(?!s| \d{1,2}\b(?!:))",
            flags,
        ),
        _weekday,
    )
    yield (
        re.compile(rf"\b(?:in|since|from|by|during|until|of|year|around|for|before|after) {YEAR}\b(?![-/]\d)", flags),
        _year,
    )


def _month_of(year: int, month: int) -> str:
    if not 1 <= month <= 12:
        raise ValueError(f"month {month}")
    return f"{year:04d}-{month:02d}"


def _month_of_day(day: date) -> str:
    return _month_of(day.year, day.month)


def _day_or_month(day: date, vague: bool) -> str:
    return _month_of_day(day) if vague else day.isoformat()


def _shifted_month(today: date, months: int) -> str:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return _month_of(year, month + 1)


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def _clause_around(text: str, match: re.Match[str]) -> str:
    """Return the sentence up to the match, and the text after it up to the next comma."""
    window = text[max(0, match.start() - 200) : match.start()]
    starts = [end.end() for end in _SENTENCE_END.finditer(window)]
    after = text[match.end() : match.end() + 80]
    end = _CLAUSE_END.search(after)
    return window[starts[-1] if starts else 0 :] + " " + after[: end.start() if end else 80]


_RULES: list[tuple[re.Pattern[str], Resolver]] = list(_rules())
