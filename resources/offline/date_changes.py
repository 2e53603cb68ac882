"""Dates that a later sentence takes back: moved, cancelled, corrected or rejected plans.

The rules look at the sentences that have dates, in order, and drop every mention of a day that no longer holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from resources.offline.date_scene import MONTH
from resources.offline.date_tense import FRAGMENT, clause
from resources.offline.date_words import DateWords
from resources.offline.lexicon import lexicon_of

LOOK_BACK = 24
"""How many sentences with dates before a change are searched for what was changed."""

JUST_BEFORE = 3
"""How many messages before ``instead`` may name the day that does not hold."""

_ANY_WORD = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
_STEM = 6
"""Characters by which words of two sentences are compared."""


@dataclass(slots=True)
class Mention:
    """A phrase for a date, with its days, months or years. It is dropped if they do not hold, or are only imagined.

    They are certain if the words can mean no others.
    """

    start: int
    end: int
    kind: str
    dates: list[str]
    dropped: bool = False
    refuted: bool = False
    certain: bool = False

    @property
    def is_day(self) -> bool:
        """Whether it names days."""
        return bool(self.dates) and len(self.dates[0]) == 10


@dataclass(slots=True)
class DatedSentence:
    """A sentence that has words for dates. The first one of a message has the first words of the message too."""

    text: str
    words: DateWords
    today: date
    message: int
    opening: str = ""
    mentions: list[Mention] = field(default_factory=list)

    def all_dates(self) -> Iterator[str]:
        """Yield the days, months and years that it names and that hold."""
        return (day for one in self.mentions if not one.dropped for day in one.dates)

    def days(self, near: bool = False) -> set[str]:
        """Return the days that it names and that hold, also those such as today if ``near``."""
        held = [one for one in self.mentions if one.is_day and not one.dropped and (near or one.kind != "near")]
        return {day for one in held for day in one.dates}


def drop_changed(sentences: Sequence[DatedSentence]) -> None:
    """Drop the days that a later sentence takes back, and months of which a sentence beside them names the day."""
    for number, sentence in enumerate(sentences):
        words = sentence.words
        earlier = sentences[max(0, number - LOOK_BACK) : number]
        _drop({day for one in sentence.mentions if one.refuted and one.is_day for day in one.dates}, earlier)
        _drop_alternatives(sentence, sentences[number + 1 :])
        _drop_outbid(sentence, sentences[number + 1 :])
        _drop_slips(sentence)
        _drop_intended(sentence)
        if number:
            _drop_slip_before(sentence, sentences[number - 1])
        if cancelled := words.cancelled.search(sentence.text):
            days = _days_beside(sentence, cancelled)
            _drop(days, [*earlier, *_same_message(sentence, sentences[number:])])
        elif words.moved.search(sentence.text) or words.early.search(sentence.text):
            _drop_moved(sentence, sentences[number + 1 : number + 2], earlier)
        elif words.instead.search(sentence.text):
            _drop_moved(sentence, (), [one for one in earlier if one.message >= sentence.message - JUST_BEFORE])
        elif sentence.opening and words.refused.match(sentence.opening):
            _drop_rejected(sentence, _same_message(sentence, sentences[number : number + 3]), earlier)
    _join_years(sentences)
    _drop_coarse(sentences)


def _join_years(sentences: Sequence[DatedSentence]) -> None:
    """Let ``2019. In September`` be a month of that year."""
    held = [(sentence, one) for sentence in sentences for one in sentence.mentions if one.dates and not one.dropped]
    for (before, year), (sentence, month) in pairwise(held):
        if year.kind != "year" or month.kind != "month" or before.message != sentence.message:
            continue
        between = before.text[year.end :] if before is not sentence else before.text[year.end : month.start]
        if before is not sentence:
            between += f" {sentence.text[: month.start]} {sentence.text[month.end :]}"
        if len(_ANY_WORD.findall(between)) <= FRAGMENT and year.dates[0] < f"{sentence.today.year:04d}":
            month.dates = [f"{year.dates[0]}{month.dates[0][4:]}"]
            year.dropped = True


def _drop_outbid(sentence: DatedSentence, later: Sequence[DatedSentence]) -> None:
    """Drop the day that a question proposes, if the next one proposes another and only that is spoken of again."""
    old = {day for day in sentence.days() if day >= sentence.today.isoformat()}
    if len(old) != 1 or not sentence.text.endswith("?"):
        return
    for number, other in enumerate(later[:LOOK_BACK]):
        if sentence.message < other.message <= sentence.message + JUST_BEFORE and other.text.endswith("?"):
            said = {day for one in later[number:] if one.message > other.message for day in one.days()}
            if said & (other.days() - old) and not said & old:
                _drop(old, [sentence, *later])
                return


def _drop_coarse(sentences: Sequence[DatedSentence]) -> None:
    """Drop a month if its sentence, or an adjacent sentence with dates, names a day in that month.

    So is a year long ago of which anything finer is known: both tell of the same.
    """
    known = {day[:4] for one in sentences for day in one.all_dates() if len(day) > 4}
    for one in sentences:
        for mention in one.mentions:
            if mention.kind == "year" and known.intersection(mention.dates):
                mention.dropped |= int(mention.dates[0]) < one.today.year - 1
    finer = [{day[:MONTH] for day in one.days(near=True)} for one in sentences]
    for number, one in enumerate(sentences):
        for other in range(max(0, number - 1), min(len(sentences), number + 2)):
            if abs(sentences[other].message - one.message) < 2:
                _drop(finer[other], [one])


def _days_beside(sentence: DatedSentence, cue: re.Match[str]) -> set[str]:
    """Return the days of a clause, or those of the whole sentence if the clause has none."""
    start, end = clause(sentence.text, cue.start(), cue.end())
    days = [(start <= one.start < end, set(one.dates)) for one in sentence.mentions if one.is_day]
    return set().union(*(found for beside, found in days if beside)) or set().union(*(found for _, found in days))


def _drop_slips(sentence: DatedSentence) -> None:
    """Drop the first of two dates in ``the 12th, no, sorry, the 14th`` and ``moved from the 12th to the 14th``."""
    words, moved = sentence.words, sentence.words.moved.search(sentence.text)
    for one in sentence.mentions:
        if moved and one.kind == "days" and words.since.search(sentence.text, 0, one.start):
            one.dates = one.dates[-1:]
    for first, second in pairwise(sentence.mentions):
        between = (sentence.text, first.end, second.start)
        if words.slip.fullmatch(*between) or (moved and first.is_day and words.between.fullmatch(*between)):
            first.dropped = True


def _drop_slip_before(sentence: DatedSentence, before: DatedSentence) -> None:
    """Drop the date before a sentence such as ``Wait, no, the 14th``."""
    together = sentence.message == before.message and sentence.mentions and before.mentions
    if together and sentence.words.slip.fullmatch(sentence.text, 0, sentence.mentions[0].start):
        before.mentions[-1].dropped = True


def _drop_alternatives(sentence: DatedSentence, later: Sequence[DatedSentence]) -> None:
    """Drop the one of ``the 12th or the 14th`` that nobody speaks of again, if somebody does of the other."""
    for first, second in pairwise(sentence.mentions):
        between = (sentence.text, first.end, second.start)
        if first.is_day and second.is_day and sentence.words.either.fullmatch(*between):
            said = {day for one in later if one.message > sentence.message for day in one.days()}
            held = [one for one in (first, second) if said.intersection(one.dates)]
            for one in (first, second):
                one.dropped = one.dropped or (len(held) == 1 and one not in held)


def _drop_intended(sentence: DatedSentence) -> None:
    """Drop the first date of ``we wanted the 1st, but the 2nd is free``."""
    for first, second in pairwise(sentence.mentions):
        wanted = sentence.words.intended.search(sentence.text, 0, first.start)
        alike = first.dates and second.dates and len(first.dates[0]) == len(second.dates[0])
        if wanted and alike and sentence.words.but.search(sentence.text, first.end, second.start):
            first.dropped = True


def _drop_moved(sentence: DatedSentence, following: Iterable[DatedSentence], earlier: Sequence[DatedSentence]) -> None:
    """Drop the day that had been planned."""
    early = sentence.words.early.search(sentence.text) is not None
    new = sentence.days(early) or {day for one in _same_message(sentence, following) for day in one.days()}
    if new and max(new) >= sentence.today.isoformat():
        _drop(planned_before(sentence, earlier, new), earlier)


def planned_before(sentence: DatedSentence, earlier: Sequence[DatedSentence], new: Collection[str] = ()) -> set[str]:
    """Return the days ahead, apart from ``new``, that an earlier sentence names for the thing that is moved.

    It is the sentence that shares the most words, the latest of several; without such words only a single day counts.
    """
    words, today = _stems(sentence), sentence.today.isoformat()
    planned = [(one, {day for day in one.days() if day >= today and day not in new}) for one in earlier]
    known = [(len(words & _stems(one)), number, days) for number, (one, days) in enumerate(planned) if days]
    shared, _, days = max(known, default=(0, 0, set[str]()))
    return days if shared or len({day for _, _, others in known for day in others}) == 1 else set()


def _drop_rejected(sentence: DatedSentence, answer: Iterable[DatedSentence], earlier: Sequence[DatedSentence]) -> None:
    """Drop the date of a question that is answered by no and another date."""
    if earlier and earlier[-1].message == sentence.message - 1 and earlier[-1].text.endswith("?"):
        new = {day for one in answer for mention in one.mentions for day in mention.dates}
        old = {day for mention in earlier[-1].mentions for day in mention.dates}
        _drop({day for day in old if len(day) in map(len, new - old)}, [*earlier, sentence])


def _same_message(sentence: DatedSentence, sentences: Iterable[DatedSentence]) -> list[DatedSentence]:
    return [one for one in sentences if one.message == sentence.message]


def _drop(days: set[str], sentences: Iterable[DatedSentence]) -> None:
    for mention in _naming(days, sentences):
        mention.dropped = True


def _naming(days: set[str], sentences: Iterable[DatedSentence]) -> Iterator[Mention]:
    return (one for sentence in sentences for one in sentence.mentions if days.intersection(one.dates))


def _stems(sentence: DatedSentence) -> set[str]:
    """Return the words of a sentence outside its dates, cut so that most endings fall away."""
    rest, start = [], 0
    for mention in sentence.mentions:
        rest.append(sentence.text[start : mention.start])
        start = mention.end
    rest.append(sentence.text[start:])
    stop = lexicon_of(sentence.words.code).stop
    return {word[:_STEM] for word in _WORD.findall(" ".join(rest).lower()) if word not in stop}
