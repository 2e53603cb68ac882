"""Dates that a later sentence takes back: denied, cancelled or rejected plans.

The rules look at the sentences that have dates, in order, and drop every mention of a day that no longer holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from resources.offline.date_scene import MONTH
from resources.offline.date_tense import clause
from resources.offline.date_words import DateWords

LOOK_BACK = 24
"""How many sentences with dates before another are searched for what it takes back."""


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
        earlier = sentences[max(0, number - LOOK_BACK) : number]
        _drop({day for one in sentence.mentions if one.refuted and one.is_day for day in one.dates}, earlier)
        if cancelled := sentence.words.cancelled.search(sentence.text):
            days = _days_beside(sentence, cancelled)
            _drop(days, [*earlier, *_same_message(sentence, sentences[number:])])
        elif sentence.opening and sentence.words.refused.match(sentence.opening):
            _drop_rejected(sentence, _same_message(sentence, sentences[number : number + 3]), earlier)
    _drop_coarse(sentences)


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
