"""Dates mentioned in a conversation, resolved against the time of each message.

Results are days (``2023-05-07``), months (``2023-05``) and years (``2022``), never more precise than the text. What
comes again and again is no date, nor is what was denied, only imagined, or changed later. ``date_words`` has the words
of each language, ``date_readings`` says what a phrase means.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import pairwise

from resources.offline.date_changes import LOOK_BACK, Mention, Sentence, drop_changed, planned_before
from resources.offline.date_readings import READINGS, Scene, filled
from resources.offline.date_words import Cues, DateWords, date_words, part
from resources.offline.prose import Prose

MAX_DATES = 48
MAX_SENTENCE = 600
"""Longer sentences are cut; what is said about a date stands near it."""

ONLY_PAST, PAST, PARTICIPLE, UNKNOWN, PRESENT, FUTURE = -24.0, -6.0, -2.5, 1.5, 3.0, 6.0
"""How surely a verb says that a date lies behind or ahead: a day against it counts as so many times as far."""

LEANS = {"past": PAST, "participle": PARTICIPLE, "arranged": UNKNOWN, "present": PRESENT, "future": FUTURE}
BEHIND = 12
"""Characters by which a verb behind a date counts as farther away than one before it."""

EXACT = ("iso_day", "figures", "days", "day_of_month", "ordinal")
"""Kinds of phrases that name a day by its number."""

COARSE = ("month_and_year", "month", "season", "year", "unit")
"""Kinds of phrases that name a month or a year."""

FRAGMENT = 4
"""So few words have no verb; longer sentences have one, known or not."""

LONGEST_SPAN = 10
"""Days of the longest range in which a weekday is one of its days."""

RECENT = 16
"""So many days that were spoken of are remembered."""

_FENCE = "```"
_SPLIT = re.compile(r"[!?]+(?=\s)|(?<=[^\W\d])[.](?=\s)|(?<=\d)[.](?=\s+[^\W\d_a-z])|[\"”»)][.!?]*(?=\s+[A-Z])")
_SPLIT_WITH_ORDINALS = re.compile(r"[!?]+(?=\s)|(?<=[^\W\d])[.](?=\s)")
_LONE = re.compile(r"(?:^|[,;:(]|\b(?:and|only|und|y|et))\s*$")
_DENIED = re.compile(r" nicht\b")
_CLAUSE = re.compile(r"[,;:()–]|\s-\s")


def find_dates(prose: Prose) -> list[str]:
    """Return the dates of a segment, in order, without repetition, at most ``MAX_DATES``."""
    reader = _Reader()
    languages = {sentence.message: sentence.language for sentence in prose.sentences}
    for number, language in languages.items():
        message = prose.segment.messages[number]
        reader.read(message.content, message.occurred_at.date(), number, date_words(language))
    return reader.dates()


def resolve_dates(text: str, spoken_at: datetime, language: str = "en") -> list[str]:
    """Return the dates of one text, in order, without repetition.

    Args:
        text: Free text; a few kilobytes at a time, such as one message.
        spoken_at: Time of the text; relative phrases count from its day.
        language: Code of its language; of an unknown one only dates in figures are read.
    """
    reader = _Reader()
    reader.read(text, spoken_at.date(), 0, date_words(language))
    return reader.dates()


class _Reader:
    """Reads messages in order, because a date may count from an earlier one."""

    def __init__(self) -> None:
        self._sentences: list[Sentence] = []
        self._recent: deque[date] = deque(maxlen=RECENT)
        self._span: tuple[date, date] | None = None
        self._habits: set[int] = set()
        self._count = 0

    def read(self, text: str, today: date, message: int, words: DateWords) -> None:
        """Read one message."""
        habit = False
        for number, sentence in enumerate(sentences(text, words)):
            if self._count >= 4 * MAX_DATES:
                return
            found = _matches(sentence, words)
            if found:
                habit = self._resolve(Sentence(sentence, words, today, message, number == 0), found, habit)

    def dates(self) -> list[str]:
        """Return what was found and still holds."""
        drop_changed(self._sentences)
        mentions = (one for sentence in self._sentences for one in sentence.mentions if not one.dropped)
        return list(dict.fromkeys(day for one in mentions for day in one.dates))[:MAX_DATES]

    def _resolve(self, sentence: Sentence, found: Sequence[tuple[str, re.Match[str]]], habit: bool) -> bool:
        """Read the phrases of a sentence; return whether it speaks of what happens again and again."""
        words, text, cues = sentence.words, sentence.text, sentence.words.cues
        month = self._month_of_topic(sentence)
        habit = habit or (cues is not None and cues.habit.search(text) is not None)
        year = next((_year_of(match, sentence.today, words) for kind, match in found if kind == "unit"), None)
        beside = any(part(match, "month") for _, match in found)
        self._count += len(found)
        for kind, match in found:
            lean = _lean(text, match, cues)
            repeated = habit or self._is_habit(kind, match, words)
            scene = Scene(
                words, text, sentence.today, lean, list(self._recent), self._span, month, repeated, year, beside
            )
            try:
                dates = READINGS[kind](match, scene)
            except (ValueError, OverflowError):
                continue  # such as 31 February, or a year before the calendar
            self._note_habits(kind, match, words)
            dropped = cues is not None and _is_unsure(kind, text, match, cues)
            sentence.mentions.append(Mention(match.start(), match.end(), kind, dates, dropped))
            for day in dates:
                if len(day) == 7:
                    month = (int(day[:4]), int(day[5:]))
                elif len(day) == 10 and kind != "near":
                    self._recent.append(_date(day))
                    month = None
            if kind == "days" and len(dates) > 1:
                self._note_span(_date(dates[0]), _date(dates[-1]))
        for first, second in pairwise(sentence.mentions):
            if _is_range(first, second, text, words):
                self._note_span(_date(first.dates[0]), _date(second.dates[0]))
                first.dates = [day.isoformat() for day in filled(_date(first.dates[0]), _date(second.dates[0]))]
        _name_weekdays(sentence)
        self._sentences.append(sentence)
        return any(one.kind == "habit" for one in sentence.mentions)

    def _month_of_topic(self, sentence: Sentence) -> tuple[int, int] | None:
        """Return the month in which that was planned which the sentence moves."""
        if sentence.words.cues is None or not sentence.words.cues.moved.search(sentence.text):
            return None
        planned = [_date(day) for day in planned_before(sentence, self._sentences[-LOOK_BACK:])]
        months = {(day.year, day.month) for day in planned}
        return months.pop() if len(months) == 1 else None

    def _is_habit(self, kind: str, match: re.Match[str], words: DateWords) -> bool:
        """Whether a weekday without any other word is one on which something always happens."""
        return (
            kind == "weekday"
            and words.weekdays[part(match, "weekday")] in self._habits
            and part(match, "weekday") == match.group()
            and _LONE.search(match.string, 0, match.start()) is not None
        )

    def _note_span(self, first: date, last: date) -> None:
        if 0 < (last - first).days <= LONGEST_SPAN:
            self._span = (first, last)

    def _note_habits(self, kind: str, match: re.Match[str], words: DateWords) -> None:
        if kind == "habit":
            named = words.weekday.findall(match.group())
            self._habits.update(words.weekdays[name] for name in named)


def _name_weekdays(sentence: Sentence) -> None:
    """Let a weekday be the day of its sentence that falls on it, as in ``on Saturday, she turns six on the 30th``."""
    exact = {
        _date(day).weekday(): day for one in sentence.mentions if one.kind in EXACT for day in one.dates if one.is_day
    }
    for one in sentence.mentions:
        if one.kind == "weekday" and one.is_day:
            one.dates = [exact.get(_date(one.dates[0]).weekday(), one.dates[0])]


def _year_of(match: re.Match[str], today: date, words: DateWords) -> int | None:
    """Return the year that ``last year`` names."""
    if words.units[part(match, "unit")] != 4:
        return None
    return today.year + words.relative[part(match, "before") or part(match, "after")]


def _date(day: str) -> date:
    return date.fromisoformat(day)


def _is_range(first: Mention, second: Mention, text: str, words: DateWords) -> bool:
    both_days = all(len(one.dates) == 1 and len(one.dates[0]) == 10 and one.kind != "near" for one in (first, second))
    return both_days and words.between.fullmatch(text, first.end, second.start) is not None


def _matches(text: str, words: DateWords) -> list[tuple[str, re.Match[str]]]:
    """Return the phrases of a sentence in order; where two rules match, the earlier rule wins."""
    if not words.hint.search(text):
        return []
    taken = bytearray(len(text))
    found: list[tuple[str, re.Match[str]]] = []
    for kind, pattern in words.rules:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((kind, match))
    return sorted(found, key=lambda one: one[1].start())


def sentences(text: str, words: DateWords) -> Iterator[str]:
    """Yield the sentences of a message, without blocks of code."""
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCE):
            in_code = not in_code
        elif not in_code and line.strip():
            yield from _sentences_of(line, words)


def _sentences_of(line: str, words: DateWords) -> Iterator[str]:
    start = 0
    for end in (_SPLIT if words.ends_at_number else _SPLIT_WITH_ORDINALS).finditer(line):
        yield from _cut(line[start : end.end()])
        start = end.end()
    yield from _cut(line[start:])


def _cut(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > MAX_SENTENCE:
        space = sentence.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        end = space if space > 0 else start + MAX_SENTENCE
        yield sentence[start:end].strip()
        start = end
    if rest := sentence[start:].strip():
        yield rest


def _lean(text: str, match: re.Match[str], cues: Cues | None) -> float:
    """Return whether a date lies behind or ahead of the message, from the words before it and the nearest verb."""
    if cues is None:
        return 0.0
    before = text[max(0, match.start() - 40) : _core(match)]
    if cues.backward.search(before):
        return PAST
    if cues.forward.search(before):
        return FUTURE
    start, end = _clause(text, match)
    if {verb.lastgroup for verb in cues.tense.finditer(text, start, end)} == {"past"}:
        return ONLY_PAST
    verb = _nearest_verb(text, start, end, match, cues) or _nearest_verb(text, 0, len(text), match, cues)
    return verb or (UNKNOWN if len(text.split()) > FRAGMENT else 0.0)


def _core(match: re.Match[str]) -> int:
    """Return where a phrase begins, without the preposition that belongs to its pattern."""
    prefix = part(match, "prefix")
    return match.start() + (len(prefix) + 1 if prefix else 0)


def _clause(text: str, match: re.Match[str]) -> tuple[int, int]:
    start = max((end.end() for end in _CLAUSE.finditer(text, 0, match.start())), default=0)
    following = _CLAUSE.search(text, match.end())
    return start, following.start() if following else len(text)


def _nearest_verb(text: str, start: int, end: int, match: re.Match[str], cues: Cues) -> float:
    found = [
        (max(match.start() - verb.end(), verb.start() - match.end() + BEHIND), str(verb.lastgroup))
        for verb in cues.tense.finditer(text, start, end)
        if verb.end() <= match.start() or verb.start() >= match.end()
    ]
    if not found:
        return 0.0
    tenses = {tense for _, tense in found}
    if cues.auxiliary is not None and "participle" in tenses and "future" not in tenses:
        return PAST if cues.auxiliary.search(text, start, end) else PARTICIPLE
    return LEANS[min(found)[1]]


def _is_unsure(kind: str, text: str, match: re.Match[str], cues: Cues) -> bool:
    """Whether the date is denied, or the sentence only imagines what happens then."""
    start, _ = _clause(text, match)
    before = text[max(0, match.start() - 40) : _core(match)]
    return (
        cues.refuted.search(before) is not None
        or cues.perhaps.search(text, start, match.start()) is not None
        or cues.condition.search(text, start, match.start()) is not None
        or cues.condition.match(text) is not None
        or (kind in COARSE and cues.ahead_of.search(before) is not None)
        or _DENIED.match(text, match.end()) is not None
    )
