"""Extractive summaries whose sentences can be understood alone.

``units`` finds what can be understood alone, ``salience`` weighs it, this module chooses greedily what adds most for
its length, tells it in the third person where that is certain (``retelling``) and quotes it where it is not.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from datetime import date

from neurigraph_pipelines.model import Role, Summary
from resources.offline.fixed_dates import with_dates, written
from resources.offline.lexicon import english
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose, tidy
from resources.offline.retelling import lacks_subject, retold
from resources.offline.salience import Salience
from resources.offline.titles import title_of
from resources.offline.units import Unit, units_of

MAX_WORDS = 200
"""Limit of a summary: the local embedder reads about as much, and a search shows all of it."""

MAX_MENTIONS = 3
"""How often a unit in the third person may repeat the speaker's name; a quotation reads better beyond that."""


def summarize(prose: Prose, words: int) -> Summary:
    """Return a summary of about ``words`` words, at most ``MAX_WORDS``, and a title; neither is empty."""
    names = find_names(prose)
    title = title_of(prose, names)
    teller = _Teller(prose, names)
    lead = teller.period()
    budget = max(10, min(words, MAX_WORDS) - len(lead.split()))
    chosen = sorted(_choose(prose, names, budget, teller), key=lambda unit: unit.sentences)
    told = [teller.tell(unit) for unit in chosen]
    return Summary(title=title, text=f"{lead}: {' '.join(told) or _fallback(prose, title)}")


def _choose(prose: Prose, names: Names, budget: int, teller: _Teller) -> list[Unit]:
    """Choose units by lazy greedy coverage; linear except for the heap."""
    salience = Salience(prose, names)
    units = units_of(prose, names, is_english=_is_english(prose))
    outdated = salience.corrected({n for unit in units for n in unit.sentences})
    units = [unit for unit in units if outdated.isdisjoint(unit.sentences)]
    weights = [salience.unit(unit.sentences) for unit in units]
    covered: set[str] = set()

    def gain(number: int) -> float:
        unit = units[number]
        stems = {word.stem for n in unit.sentences for word in prose.sentences[n].content}
        new = len(stems - covered) / max(1, len(stems))
        length = unit.length + 3 + (len(prose.sentences[unit.question].words) if unit.question is not None else 0)
        return weights[number] * (0.2 + 0.8 * new) / (length + 8) ** 0.8

    heap = [(-value, number) for number in range(len(units)) if (value := gain(number)) > 0]
    heapq.heapify(heap)
    chosen: list[Unit] = []
    taken: set[int] = set()
    left = budget
    while heap and left > 5:
        _, number = heapq.heappop(heap)
        unit = units[number]
        if not taken.isdisjoint(unit.sentences):
            continue
        value = gain(number)
        if heap and value < -heap[0][0]:
            heapq.heappush(heap, (-value, number))
            continue
        length = len(teller.tell(unit).split())
        if length <= left or not chosen:
            chosen.append(unit)
            taken.update(unit.sentences)
            covered.update(word.stem for n in unit.sentences for word in prose.sentences[n].words)
            left -= length
    return chosen


def _is_english(prose: Prose) -> bool:
    words = [word for sentence in prose.sentences[:400] for word in sentence.words if word.text.isalpha()]
    return sum(word.empty for word in words) >= 0.25 * len(words)


class _Teller:
    """Tells units as sentences of a summary."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._names = names
        self._english = _is_english(prose)
        authors = dict.fromkeys(map(self._called, range(len(prose.segment.messages))))
        self._pair = list(authors) if len(authors) == 2 else []
        words = [word.text for one in prose.sentences for word in one.words]
        self._small = {word for word in words if word[0].islower()} | english().stop | english().verbs
        self._capitalised = {word for name in authors for word in name.split()} | {"I"}
        self._year = prose.segment.occurred_at.year

    def period(self) -> str:
        """Return the days of the conversation, such as ``From 3 to 31 March 2025``."""
        days = [message.occurred_at.date() for message in self._prose.segment.messages]
        first, last = min(days), max(days)
        if first == last:
            return f"On {written(first, None)}"
        if (first.year, first.month) == (last.year, last.month):
            return f"From {first.day} to {written(last, None)}"
        return f"From {written(first, last.year)} to {written(last, None)}"

    def tell(self, unit: Unit) -> str:
        """Return a unit as one sentence."""
        message = self._prose.sentences[unit.sentences[0]].message
        speaker = self._speaker(message)
        texts = [self._dated(text, message) for text in unit.texts]
        if unit.question is not None:
            question = self._prose.sentences[unit.question]
            answer = _inside(self._joined(texts))
            return _ended(f'Asked "{_inside(question.text)}", {self._called(message)} answered "{answer}."')
        is_assistant = self._prose.segment.messages[message].role is Role.ASSISTANT
        if self._english:
            hearer = next((name for name in self._pair if name != self._called(message)), None)
            told = [retold(text, self._called(message), hearer) for text in texts]
            if None not in told and not any(map(lacks_subject, texts)):
                text = self._joined([one for one in told if one])
                if text.count(speaker) <= MAX_MENTIONS:
                    return f"{speaker}: {_ended(text)}" if is_assistant and self._called(message) not in text else _ended(text)
        return f'{speaker}: "{_inside(_ended(self._joined(texts)))}"'

    def _dated(self, text: str, message: int) -> str:
        if not self._english:
            return text
        messages = self._prose.segment.messages
        context = " ".join(one.content[-400:] for one in messages[max(0, message - 2) : message + 1])
        return with_dates(text, messages[message].occurred_at, self._year, context)

    def _called(self, number: int) -> str:
        """Return the name of a speaker within a sentence."""
        message = self._prose.segment.messages[number]
        if message.role is Role.ASSISTANT or not message.author:
            return f"the {self._speaker(number).lower()}"
        return self._speaker(number)

    def _joined(self, texts: Sequence[str]) -> str:
        """Join sentences to one."""
        parts = [re.sub(r"[.!…]+$", "", text) for text in texts]
        return "; ".join([parts[0], *(part if self._keeps_capital(part) else part[:1].lower() + part[1:] for part in parts[1:])])

    def _keeps_capital(self, text: str) -> bool:
        first = re.split(r"[\s,'’]", text, maxsplit=1)[0]
        return not self._english or first.lower() not in self._small or first in self._capitalised

    def _speaker(self, number: int) -> str:
        message = self._prose.segment.messages[number]
        if message.author and message.role is not Role.ASSISTANT:
            return self._names.speakers.get(message.author, message.author)[:60]
        return (message.author or message.role.value).capitalize()[:60]


def _inside(text: str) -> str:
    """Return a text for the inside of quotation marks."""
    return text.replace('"', "'").strip()


def _ended(sentence: str) -> str:
    """Return a sentence with a capital at its beginning and a full stop."""
    ended = sentence if sentence[-1] in ".!?…。！？\"')”’" else f"{sentence.rstrip(',;:-')}."
    return ended[0].upper() + ended[1:]


def _fallback(prose: Prose, title: str) -> str:
    """Return a summary of content without an informative sentence: its beginning, or that there is no text."""
    for message in prose.segment.messages:
        beginning = tidy(message.content[:400])[:200]
        if beginning:
            return f"{message.author or message.role.value.capitalize()}: {beginning}"
    return f"{title}: no text."
