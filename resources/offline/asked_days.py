"""Days that a question names: a sentence about another weekday, month or day does not answer it.

``When does it open on Tuesday?`` is not answered by ``It opens at nine on Monday``. A sentence without any such word
stays. Words of seven languages and of Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from neurigraph_pipelines.model import Quotable
from resources.offline.candidates import Candidate
from resources.offline.lexicon import forms
from resources.offline.questions import LISTS, Asked

_FORMS = forms("asked_days")

_WEEKDAYS, _MONTHS = (LISTS["dates"][name].splitlines() for name in ("weekdays", "months"))
_VERBS = ("may", "march")
"""Months only with a capital."""


def _numbers(words: Sequence[str], first: int) -> dict[str, int]:
    return {word: number for number, names in enumerate(words, first) for word in names.split()}


def _pattern(words: dict[str, int]) -> re.Pattern[str]:
    spaced = "|".join(sorted((word for word in words if word[0] < "\u2e80"), key=len, reverse=True))
    unspaced = "|".join(word for word in words if word[0] >= "\u2e80")
    return re.compile(rf"(?<!\w)(?:{spaced})s?(?!\w)" + (f"|{unspaced}" if unspaced else ""), re.I)


_BY_WEEKDAY, _BY_MONTH = _numbers(_WEEKDAYS, 0), _numbers(_MONTHS, 1)
_WEEKDAY, _MONTH = _pattern(_BY_WEEKDAY), _pattern(_BY_MONTH)


@dataclass(frozen=True, slots=True)
class _Named:
    """The days that a text names: numbers of weekdays (Monday is 0), of months, and days of months."""

    weekdays: frozenset[int]
    months: frozenset[int]
    days: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> _Named:
        months = list(_months(text))
        days = frozenset((month, day) for start, end, month in months if (day := _day_beside(text, start, end)))
        return cls(frozenset(_weekdays(text)), frozenset(month for _, _, month in months), days)

    def is_other(self, asked: _Named) -> bool:
        """Return whether this names a weekday, month or day, and none that is asked for."""
        pairs = ((self.weekdays, asked.weekdays), (self.months, asked.months))
        if any(own and wanted and own.isdisjoint(wanted) for own, wanted in pairs):
            return True
        return len(self.days) == 1 and bool(asked.days) and self.days.isdisjoint(asked.days)


def of_asked_days(
    question: str, asked: Asked, candidates: Sequence[Candidate], quotable: Sequence[Quotable]
) -> list[Candidate]:
    """Leave out sentences about another weekday, month or day than the question names.

    Where the question asks for what has happened, what was said on the day that it names stays.
    """
    wanted = _Named.of(question)
    if not (wanted.weekdays or wanted.months):
        return list(candidates)
    return [
        one
        for one in candidates
        if (asked.is_past and _was_said(quotable[one.number].occurred_at, wanted))
        or not _Named.of(one.text).is_other(wanted)
    ]


def _was_said(at: datetime, wanted: _Named) -> bool:
    if wanted.days:
        return (at.month, at.day) in wanted.days
    return at.month in wanted.months if wanted.months else at.weekday() in wanted.weekdays


def _weekdays(text: str) -> Iterator[int]:
    if _FORMS.every_day.search(text):
        yield from range(7)
    if _FORMS.working.search(text):
        yield from range(5)
    if _FORMS.weekend.search(text):
        yield from (5, 6)
    before: re.Match[str] | None = None
    for match in _WEEKDAY.finditer(text):
        number = _number(match[0], _BY_WEEKDAY)
        if before is not None and _FORMS.through.fullmatch(text, before.end(), match.start()):
            first = _number(before[0], _BY_WEEKDAY)
            yield from ((first + step) % 7 for step in range((number - first) % 7))
        yield number
        before = match


def _months(text: str) -> Iterator[tuple[int, int, int]]:
    for match in _MONTH.finditer(text):
        if match[0] not in _VERBS:
            yield match.start(), match.end(), _number(match[0], _BY_MONTH)
    for match in _FORMS.cjk_month.finditer(text):
        yield match.start(), match.end(), int(match[1])


def _number(word: str, numbers: dict[str, int]) -> int:
    plain = word.casefold()
    return numbers[plain if plain in numbers else plain.removesuffix("s")]


def _day_beside(text: str, start: int, end: int) -> int:
    found = (
        _FORMS.cjk_day.match(text, end)
        or _FORMS.day_before.search(text[max(0, start - 12) : start])
        or _FORMS.day_after.match(text, end)
    )
    return int(found[1]) if found else 0
