"""The meaning of the words around a date: past or future, certain or not, once or again and again."""

from __future__ import annotations

import re
from functools import lru_cache

from resources.offline.date_words import DateWords, part
from resources.offline.lexicon import forms

_FORMS = forms("date_tense")

ONLY_PAST, PAST, PARTICIPLE, UNKNOWN, PRESENT, FUTURE = -24.0, -6.0, -2.5, 1.2, 6.0, 12.0
"""How surely a verb says that a date lies behind or ahead: a day against it counts as so many times as far."""

LEANS = {"past": PAST, "participle": PARTICIPLE, "arranged": UNKNOWN, "present": PRESENT, "future": FUTURE}
BEHIND = 12
"""Characters by which a verb behind a date counts as farther away than one before it."""

COARSE = ("month_and_year", "month", "season", "year", "unit")
"""Kinds of phrases that name a month or a year."""

_COUNTED = ("near", "ago", "ahead", "unit")
"""Kinds of phrases that count from the message."""

FRAGMENT = 3
"""So few words have no verb; longer sentences have one, known or not."""

_ROMANCE = frozenset({"el", "le", "en"})
"""In these languages a participle has its auxiliary beside it, so it tells of the past."""


def lean_of(kind: str, text: str, match: re.Match[str], words: DateWords, question: str = "") -> float:
    """Return whether a date lies behind or ahead of the message, from the words before it and the nearest verb.

    Args:
        kind: The kind of the date.
        text: Its sentence.
        match: The date in the sentence.
        words: The words of the language.
        question: What the message answers; its tense is that of an answer without a verb.
    """
    if not words.is_known:
        return PAST if _FORMS.tells_past.search(text) else UNKNOWN
    before = text[max(0, match.start() - 40) : _core(match)]
    if words.backward.search(before):
        return PAST
    if words.forward.search(before):
        return FUTURE
    start, end = clause(text, match.start(), match.end())
    if kind not in ("weekday", "near") and words.moved.search(text, start, end):
        return UNKNOWN
    if {tense for _, _, tense in _verbs(words.tense, text, start, end)} == {"past"}:
        return ONLY_PAST
    verb = _nearest_verb(text, start, end, match, words)
    if not verb and len(text[start : match.start()].split()) + len(text[match.end() : end].split()) < FRAGMENT:
        verb = _nearest_verb(text, 0, len(text), match, words)
    return verb or (UNKNOWN if len(text.split()) > FRAGMENT else _lean_of_question(question, words))


def _lean_of_question(question: str, words: DateWords) -> float:
    tenses = {str(verb.lastgroup) for verb in words.tense.finditer(question)}
    if tenses & {"past", "participle"} and "future" not in tenses:
        return PAST
    return FUTURE if tenses else 0.0


def is_repeated(text: str, match: re.Match[str], words: DateWords) -> bool:
    """Whether the clause of a date speaks of what happens again and again, or its sentence of every week."""
    here = clause(text, match.start(), match.end())
    return words.habit.search(text, *here) is not None or words.weekly.search(text) is not None


def _core(match: re.Match[str]) -> int:
    """Return where a phrase begins, without the preposition that belongs to its pattern."""
    prefix = part(match, "prefix")
    return match.start() + (len(prefix) + 1 if prefix else 0)


def clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the clause around a part of a sentence begins and ends."""
    first = max((sign.end() for sign in _FORMS.clause.finditer(text, 0, start)), default=0)
    following = _FORMS.clause.search(text, end)
    return first, following.start() if following else len(text)


def _nearest_verb(text: str, start: int, end: int, match: re.Match[str], words: DateWords) -> float:
    found = [
        (max(match.start() - last, first - match.end() + BEHIND), tense)
        for first, last, tense in _verbs(words.tense, text, start, end)
        if last <= match.start() or first >= match.end()
    ]
    if not found:
        return 0.0
    tenses = {tense for _, tense in found}
    if words.code == "de" and "participle" in tenses and "future" not in tenses:
        return PAST if words.auxiliary.search(text, start, end) else PARTICIPLE
    return LEANS[min(found)[1]]


@lru_cache(maxsize=8)
def _verbs(tense: re.Pattern[str], text: str, start: int, end: int) -> tuple[tuple[int, int, str], ...]:
    """Return where the verbs of a part begin and end, and their tenses: once for all dates of a sentence."""
    return tuple((verb.start(), verb.end(), str(verb.lastgroup)) for verb in tense.finditer(text, start, end))


def is_yearly(text: str, lean: float, words: DateWords) -> bool:
    """Whether the days of a sentence without a year come every year, or were those of a birth."""
    return words.born.search(text) is not None or (lean > PARTICIPLE and words.yearly.search(text) is not None)


def happened(text: str, match: re.Match[str], lean: float, words: DateWords) -> bool:
    """Whether a clause tells that something happened on a date, and does not merely speak of the date in the past."""
    on_it = _FORMS.on.match(text, match.start()) or _FORMS.on_before.search(text, 0, _core(match))
    if not words.is_known or on_it is None or lean >= 0:
        return False
    area = clause(text, match.start(), match.end())
    if words.code == "de" and lean <= PAST and _FORMS.perfect.search(text, *area):
        return True
    tenses = {tense for _, _, tense in _verbs(words.tense, text, *area)}
    is_told = lean <= PAST or "past" in tenses or (on_it.group().strip().lower() in _ROMANCE and "participle" in tenses)
    return is_told and tenses <= {"past", "participle"}


def is_weekly(text: str, lean: float, words: DateWords) -> bool:
    """Whether the weekday of a sentence is that of something which takes place every week, such as a market."""
    is_general = lean > PARTICIPLE and words.sure.search(text) is None
    return is_general and words.regular.search(text) is not None


def is_certain(kind: str, text: str, match: re.Match[str], words: DateWords, lean: float, apart: int) -> bool:
    """Whether a date is the only one that the words can mean, if they do not speak of what happens again and again.

    Args:
        kind: The kind of the date.
        text: Its sentence.
        match: The date in the sentence.
        words: The words of the language.
        lean: Whether the sentence speaks of the past or the future.
        apart: Days from the message to the date.
    """
    if kind in _COUNTED or part(match, "before") or part(match, "after"):
        return True
    if not words.is_known:
        return kind not in ("days", "day_of_month", "month_day") or bool(part(match, "year"))
    if kind == "ordinal" and lean == UNKNOWN:  # one of this month or the next
        return True
    is_ahead = words.sure.search(text, *clause(text, match.start(), match.end())) is not None
    return (lean <= PAST and apart < 0) or (is_ahead and lean > 0 and apart > 0)


def is_refuted(text: str, match: re.Match[str], words: DateWords) -> bool:
    """Whether the words right beside a date deny it."""
    before = text[max(0, match.start() - 40) : _core(match)]
    return words.refuted.search(before) is not None or _FORMS.denied.match(text, match.end()) is not None


def is_unsure(kind: str, text: str, match: re.Match[str], words: DateWords) -> bool:
    """Whether the sentence only imagines what happens then."""
    start, _ = clause(text, match.start(), match.end())
    before = text[max(0, match.start() - 40) : _core(match)]
    return (
        (not text.endswith("?") and words.could.search(text, start, match.start()) is not None)
        or words.perhaps.search(text, start, match.start()) is not None
        or words.condition.search(text, start, match.start()) is not None
        or words.condition.match(text) is not None
        or (kind in COARSE and words.ahead_of.search(before) is not None)
    )
