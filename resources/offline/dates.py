"""Dates mentioned in a conversation, resolved against the time of each message.

Results are days (``2023-05-07``), months (``2023-05``) and years (``2022``), never more precise than the text. What
comes again and again is no date, nor is what was denied, only imagined, or changed later. ``date_words`` has the words
of each language, ``date_readings`` says what a phrase means.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import pairwise

from neurigraph_pipelines.model import Message, Segment, SourceKind
from resources.offline.date_changes import DatedSentence, Mention, drop_changed
from resources.offline.date_readings import READINGS, YEAR_UNIT, filled
from resources.offline.date_scene import DAY, Scene
from resources.offline.date_tense import (
    happened,
    is_certain,
    is_refuted,
    is_repeated,
    is_unsure,
    is_weekly,
    is_yearly,
    lean_of,
)
from resources.offline.date_words import DateWords, date_words, part
from resources.offline.prose import Prose
from resources.offline.sentence_language import language_of_short

MAX_DATES = 48
MAX_SENTENCE = 600
"""Longer sentences are cut; the words about a date stand near it."""

YEARLESS = ("figures", "figure_days", "days", "day_of_month", "month_day", "month", "holiday")
"""Kinds of phrases that may leave out their year."""

EXACT = ("iso_day", "figures", "figure_days", "days", "day_of_month", "month_day", "ordinal")
"""Kinds of phrases that name a day by its number."""

LONGEST_SPAN = 10
"""Days of the longest range in which a weekday is one of its days."""

JUST_NOW = 3
"""A weekday may be a day that was named so many messages before."""

OPENING = 40
"""So many characters of a message say whether it agrees."""

RECENT = 16
"""So many days that were spoken of are remembered."""

_FENCE = "```"
_SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec".split()
"""A full stop between one of them and a figure ends no sentence."""

_WORD_ENDS = rf"(?<=[^\W\d])(?:[.](?=\s+[^\s\d])|{''.join(rf'(?<!{name})' for name in _SHORT_MONTHS)}[.](?=\s))"
_SPLIT = re.compile(rf"[!?]+(?=\s)|{_WORD_ENDS}|(?<=\d)[.](?=\s+[^\W\d_a-z])|[\"”»)][.!?]*(?=\s+[A-Z])")
_SPLIT_WITH_ORDINALS = re.compile(rf"[!?]+(?=\s)|{_WORD_ENDS}")
_LONE = re.compile(r"(?:^|[,;:(]|\b(?:and|only|und|y|et))\s*$")
NO_YEAR = 0
"""The year of a date that cannot stand before the one that names a year."""

_SHARING = ("figures", "figure_days", "days", "day_of_month", "month_day", "month")
"""Kinds of phrases that take the year of the next one."""


def find_dates(prose: Prose) -> list[str]:
    """Return the dates of a segment, in order, without repetition, at most ``MAX_DATES``."""
    reader = _Reader()
    languages = {sentence.message: sentence.language for sentence in prose.sentences}
    for number, language in languages.items():
        message = prose.segment.messages[number]
        reader.is_dated = is_dated(prose.segment, message)
        reader.read(
            message.content,
            message.occurred_at.date(),
            number,
            date_words(language_of_short(message.content, language)),
        )
    return reader.dates()


def is_dated(segment: Segment, message: Message) -> bool:
    """Whether a message has the day on which its words were said: a file often has only that of its arrival."""
    if segment.ref.source_kind is not SourceKind.UPLOAD:
        return True
    return message.received_at is not None and message.received_at - message.occurred_at >= timedelta(days=1)


def resolve_dates(text: str, spoken_at: datetime, language: str = "en", *, is_dated: bool = True) -> list[str]:
    """Return the dates of one text, in order, without repetition.

    Args:
        text: Free text; a few kilobytes at a time, such as one message.
        spoken_at: Time of the text; relative phrases count from its day.
        language: Code of its language; of an unknown one only dates in figures are read.
        is_dated: Whether its time is known; without it, only dates with a year are read.
    """
    reader = _Reader(is_dated)
    reader.read(text, spoken_at.date(), 0, date_words(language))
    return reader.dates()


def held_mentions(text: str, before: str, today: date, words: DateWords) -> Iterator[Mention]:
    """Yield the phrases of a text that mean dates, each with the part of the day.

    Args:
        text: One line.
        before: The message just before it.
    """
    reader = _Reader()
    reader.read(before, today, 0, words)
    read_before = len(reader.sentences)
    reader.read(text, today, 1, words)
    drop_changed(reader.sentences)
    at = 0
    for sentence in reader.sentences[read_before:]:
        at = text.index(sentence.text, at)
        for one in sentence.mentions:
            if one.dates and (one.kind == "near" or not one.dropped):
                day_part = words.part_of_day.match(text, at + one.end)
                yield replace(one, start=at + one.start, end=day_part.end() if day_part else at + one.end)
        at += len(sentence.text)


class _Reader:
    """Reads messages in order, because a date may count from an earlier one."""

    def __init__(self, is_dated: bool = True) -> None:
        self.is_dated = is_dated
        self.sentences: list[DatedSentence] = []
        self._recent: deque[tuple[int, date]] = deque(maxlen=RECENT)
        self._span: tuple[date, date] | None = None
        self._span_on: date | None = None
        self._habits: set[int] = set()
        self._question = ""

    def read(self, text: str, today: date, message: int, words: DateWords) -> None:
        """Read one message."""
        habit, opening, sentence = False, text.lstrip()[:OPENING], ""
        for sentence in sentences(text, words):
            found = _matches(sentence, words)
            if found:
                habit = self._resolve(DatedSentence(sentence, words, today, message, opening), found, habit)
                opening = ""
        self._question = sentence if sentence.endswith("?") else ""

    def dates(self) -> list[str]:
        """Return the found dates that still hold."""
        drop_changed(self.sentences)
        mentions = (one for sentence in self.sentences for one in sentence.mentions if not one.dropped)
        return list(dict.fromkeys(day for one in mentions for day in one.dates))[:MAX_DATES]

    def _resolve(self, sentence: DatedSentence, found: Sequence[tuple[str, re.Match[str]]], habit: bool) -> bool:
        """Read the phrases of a sentence; return whether the sentence speaks of recurring events."""
        words, text = sentence.words, sentence.text
        scene = self._scene(sentence, found)
        habit = habit or sum(kind == "weekday" and part(match, "weekday") == match.group() for kind, match in found) > 2
        before, years = None, shared_years(found, scene)
        for number, (kind, match) in enumerate(found):
            listed = before is not None and are_linked(text, before, match.start(), words)
            scene.shared = years.get(number)
            scene.lean = scene.lean if listed else lean_of(kind, text, match, words, self._question)
            scene.habit = habit or self._is_habit(kind, match, words) or is_repeated(text, match, words)
            scene.happened = (listed and scene.happened) or happened(text, match, scene.lean, words)
            scene.listed = _last_day(sentence) if listed else None
            before = match.end()
            try:
                dates = READINGS[kind](match, scene)
            except (ValueError, OverflowError):
                continue  # such as 31 February, or a year before the calendar
            if number not in years and (self._lacks_year(kind, match) or _comes_again(kind, match, scene)):
                dates = []
            refuted = is_refuted(text, match, words)
            dropped = refuted or is_unsure(kind, text, match, words)
            certain = bool(dates) and _is_certain(kind, match, scene, dates[0])
            sentence.mentions.append(Mention(match.start(), match.end(), kind, dates, dropped, refuted, certain))
            self._note(kind, match, dates, sentence)
            scene.note(kind, dates)
        self._fill_ranges(sentence)
        _name_weekdays(sentence)
        self.sentences.append(sentence)
        return any(one.kind == "habit" for one in sentence.mentions)

    def _scene(self, sentence: DatedSentence, found: Sequence[tuple[str, re.Match[str]]]) -> Scene:
        """Return the dates that are known before a sentence is read."""
        words, today = sentence.words, sentence.today
        return Scene(
            words=words,
            text=sentence.text,
            today=today,
            recent=[day for _, day in self._recent],
            just_now=[day for number, day in self._recent if number >= sentence.message - JUST_NOW],
            span=self._span if self._span_on == today else None,
            year=next((_year_of(match, today, words) for kind, match in found if kind == "unit"), None),
            beside=any(part(match, "month") for _, match in found),
        )

    def _lacks_year(self, kind: str, match: re.Match[str]) -> bool:
        """Whether a phrase counts from the time of a text that has none."""
        return (
            not self.is_dated
            and kind not in ("iso_day", "iso_month")
            and not (part(match, "year") or part(match, "short"))
        )

    def _note(self, kind: str, match: re.Match[str], dates: Sequence[str], sentence: DatedSentence) -> None:
        """Remember dates that later sentences may refer to."""
        if kind == "habit":
            named = sentence.words.weekday.findall(match.group())
            self._habits.update(sentence.words.weekdays[name] for name in named)
        if kind != "near":
            self._recent.extend((sentence.message, _date(day)) for day in dates if len(day) == DAY)
        if kind in ("days", "figure_days") and len(dates) > 1:
            self._note_span(_date(dates[0]), _date(dates[-1]), sentence.today)

    def _note_span(self, first: date, last: date, today: date) -> None:
        if 0 < (last - first).days <= LONGEST_SPAN:
            self._span, self._span_on = (first, last), today

    def _fill_ranges(self, sentence: DatedSentence) -> None:
        """Add the days between two that are the ends of a range."""
        for first, second in pairwise(sentence.mentions):
            if _is_range(first, second, sentence):
                ends = (_date(first.dates[0]), _date(second.dates[0]))
                self._note_span(*ends, sentence.today)
                first.dates = [day.isoformat() for day in filled(*ends)]

    def _is_habit(self, kind: str, match: re.Match[str], words: DateWords) -> bool:
        """Whether a weekday without any other word is one on which something always happens."""
        return (
            kind == "weekday"
            and words.weekdays[part(match, "weekday")] in self._habits
            and part(match, "weekday") == match.group()
            and _LONE.search(match.string, 0, match.start()) is not None
        )


def _comes_again(kind: str, match: re.Match[str], scene: Scene) -> bool:
    """Whether a phrase means a day of every week or of every year."""
    if kind == "weekday" and not names_year(match):
        return is_weekly(scene.text, scene.lean, scene.words)
    is_yearless = kind in YEARLESS and not names_year(match)
    return is_yearless and is_yearly(scene.text, scene.lean, scene.words)


def _is_certain(kind: str, match: re.Match[str], scene: Scene, meant: str) -> bool:
    """Whether the words can mean no other date, or one that was spoken of."""
    first = _date(f"{meant}-01-01"[:DAY])
    if kind == "ordinal" and first in scene.recent:
        return True
    apart = (first - scene.today).days
    is_sure = is_certain(kind, scene.text, match, scene.words, scene.lean, apart)
    return is_sure and (kind == "near" or not scene.habit)


def _last_day(sentence: DatedSentence) -> date | None:
    last = sentence.mentions[-1] if sentence.mentions else None
    return _date(last.dates[-1]) if last is not None and last.is_day and last.kind in EXACT else None


def _name_weekdays(sentence: DatedSentence) -> None:
    """Let a weekday be the day of its sentence that falls on it, as in ``on Saturday, she turns six on the 30th``."""
    exact = {_date(day).weekday(): day for one in sentence.mentions if one.kind in EXACT for day in one.dates}
    for one in sentence.mentions:
        if one.kind == "weekday" and one.is_day and one.dates[0] > sentence.today.isoformat():
            one.dates = [exact.get(_date(one.dates[0]).weekday(), one.dates[0])]


def _year_of(match: re.Match[str], today: date, words: DateWords) -> int | None:
    """Return the year that ``last year`` names."""
    if words.units[part(match, "unit")] != YEAR_UNIT:
        return None
    return today.year + words.relative[part(match, "before") or part(match, "after")]


def _date(day: str) -> date:
    return date.fromisoformat(day)


def _is_range(first: Mention, second: Mention, sentence: DatedSentence) -> bool:
    both_days = all(one.is_day and len(one.dates) == 1 and one.kind != "near" for one in (first, second))
    return both_days and sentence.words.between.fullmatch(sentence.text, first.end, second.start) is not None


def _matches(text: str, words: DateWords) -> list[tuple[str, re.Match[str]]]:
    """Return the phrases of a sentence in order; where two rules match, the earlier rule wins."""
    if not words.hint.search(text):
        return []
    taken = bytearray(len(text))
    found: list[tuple[str, re.Match[str]]] = []
    missing = {needs for needs in {rule.needs for rule in words.rules} if needs and not needs.search(text)}
    for kind, pattern, needs in words.rules:
        for match in pattern.finditer(text) if needs not in missing else ():
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
    for end in (_SPLIT if words.code != "de" else _SPLIT_WITH_ORDINALS).finditer(line):
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


def are_linked(text: str, end: int, start: int, words: DateWords) -> bool:
    """Whether the words between two dates make them ends of a range or items of a list."""
    return any(pattern.fullmatch(text, end, start) for pattern in (words.listed, words.between))


def shared_years(found: Sequence[tuple[str, re.Match[str]]], scene: Scene) -> dict[int, int]:
    """Return the years of dates without any, by their numbers, where a later date of the same list names one.

    It is the year before for the first day of a range across the turn of the year.
    """
    years: dict[int, int] = {}
    for number in range(len(found) - 2, -1, -1):
        (kind, match), (_, following) = found[number], found[number + 1]
        year = years.get(number + 1) or int(part(following, "year") or NO_YEAR)
        between = (scene.text, match.end(), following.start())
        if year and kind in _SHARING and not names_year(match) and are_linked(*between, scene.words):
            start, end = (_read(one, phrase, scene, year) for one, phrase in found[number : number + 2])
            is_range = scene.words.between.fullmatch(*between) is not None
            is_before = start and end and start[-1] <= end[0]
            years[number] = year if is_before else year - 1 if start and end and is_range else NO_YEAR
    return years


def names_year(match: re.Match[str]) -> bool:
    """Whether a phrase says its year, in figures or in words."""
    return any(part(match, name) for name in ("year", "short", "before", "after"))


def _read(kind: str, match: re.Match[str], scene: Scene, year: int) -> list[str]:
    scene.shared = year
    try:
        return READINGS[kind](match, scene)
    except (ValueError, OverflowError):
        return []
    finally:
        scene.shared = None
