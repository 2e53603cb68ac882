"""Extractive summaries whose sentences can be understood alone.

``units`` finds what can be understood alone, ``salience`` weighs it, this module chooses greedily what adds most for
its length (the maximum coverage objective of Filatova and Hatzivassiloglou 2004), and ``telling`` words it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from neurigraph_pipelines.model import Message, SourceKind, Summary
from resources.offline.keywords import key_phrases
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose, sentences, tidy
from resources.offline.salience import Salience
from resources.offline.telling import Teller
from resources.offline.titles import title_of
from resources.offline.units import Unit, units_of

MAX_WORDS = 200
"""Limit of a summary, because a search shows all of it."""

FULL_ENOUGH = 120
"""Words after which a summary takes no more small talk."""

SMALL_TALK = 1.0
"""Weight of a unit that is small talk, as a share of the mean weight of the sentences that were chosen before."""

SHARE_KNOWN = 0.2
"""What a unit is worth when all of its words are in the summary already."""

SMALL_UNIT = 8
"""Words that are added to the length of a unit, so that the shortest do not win."""

LENGTH_POWER = 1.0

LEAST_WORDS = 100
"""Words of the sentences that say enough alone; a talk with fewer is told by what else it has."""

_MISFITS = 20
"""Units in a row that do not fit any more after which the summary is complete."""


_SENTENCE_WORDS = 15  # of a usual sentence of a summary
MAX_PHRASES = 20
"""Key phrases that count as what a conversation is about."""

OPENING = 2
"""Sentences of a unit of which one names its theme; one where a language has no rules for references."""


def summarize(prose: Prose, words: int) -> Summary:
    """Return a summary of about ``words`` words, at most ``MAX_WORDS``, and a title; neither is empty."""
    names = find_names(prose)
    phrases = key_phrases(prose, names)
    title = title_of(prose, names, phrases)
    teller = Teller(prose, names, prose.segment.occurred_at.year)
    lead = teller.period()
    budget = max(10, min(words, MAX_WORDS) - len(lead.split()))
    choice = _Choice(prose, names, teller, phrases)
    told = choice.told(budget)
    told += _file_text(prose) if choice.messages == {0} else []
    return Summary(title=title, text=f"{lead}: {' '.join(told) or _fallback(prose, title)}")


def merge(parts: Sequence[Summary], words: int) -> Summary:
    """Return a summary of about ``words`` words made of sentences of several, in their order; neither part is empty.

    Each part gives its first sentence, or, of many parts, each of some that are spread evenly; then the second ones.
    """
    titles = list(dict.fromkeys(part.title for part in parts))
    title = titles[0] if len(titles) == 1 else f"{titles[0]} – {titles[-1]}"
    budget = max(10, min(words, MAX_WORDS))
    told = [list(sentences(part.text)) or [part.title] for part in _spread(parts, budget // _SENTENCE_WORDS)]
    chosen: list[list[str]] = [[] for _ in told]
    for depth in range(max(map(len, told))):
        for number, said in enumerate(told):
            cost = len(said[depth].split()) if depth < len(said) else 0
            if 0 < cost <= budget or (cost and not any(chosen)):
                chosen[number].append(said[depth])
                budget -= cost
    return Summary(title=title, text=" ".join(" ".join(said) for said in chosen if said))


def _spread(parts: Sequence[Summary], most: int) -> Sequence[Summary]:
    """Return at most so many parts, the first and the last one among them."""
    most = max(2, most)
    if len(parts) <= most:
        return parts
    return [parts[round(number * (len(parts) - 1) / (most - 1))] for number in range(most)]


class _Choice:
    """Chooses units by lazy greedy coverage; linear except for the heap.

    Attributes:
        messages: The numbers of the messages of the units that were told.
    """

    def __init__(self, prose: Prose, names: Names, teller: Teller, phrases: Sequence[str]) -> None:
        self._prose = prose
        self._teller = teller
        salience = Salience(prose, names)
        units = units_of(prose, names)
        outdated = salience.corrected()
        themes = Themes(prose, names, phrases)
        current = [unit for unit in units if outdated.isdisjoint(unit.sentences)]
        enough = [unit for unit in current if themes.are_in(unit)]
        words = sum(len(prose.sentences[number].words) for number in {n for unit in enough for n in unit.sentences})
        self._units = enough if words >= LEAST_WORDS else current
        self._weights = [salience.of_unit(unit.sentences) for unit in self._units]
        self._covered: set[str] = set()
        self._told: dict[Unit, str] = {}
        self.messages: set[int] = set()

    def told(self, budget: int) -> list[str]:
        """Return the chosen units as sentences, in order, at most ``budget`` words together."""
        heap = [(-value, number) for number in range(len(self._units)) if (value := self._gain(number)) > 0]
        heapq.heapify(heap)
        lines: dict[int, list[Unit]] = {}
        taken: set[int] = set()
        misfits = words = 0
        weight = 0.0
        while heap and words + 5 < budget and misfits < _MISFITS:
            _, number = heapq.heappop(heap)
            unit = self._units[number]
            is_small_talk = words >= FULL_ENOUGH and self._weights[number] * len(taken) < SMALL_TALK * weight
            if is_small_talk or not taken.isdisjoint(unit.sentences):
                continue
            value = self._gain(number)
            if heap and value < -heap[0][0]:
                heapq.heappush(heap, (-value, number))
                continue
            message = self._prose.sentences[unit.sentences[0]].message
            before = next((one for one in lines.get(message, ()) if one.goes_on_with(unit)), None)
            line = unit if before is None else before.with_(unit)
            length = self._words(line) - (0 if before is None else self._words(before))
            if lines and words + length > budget:
                misfits += 1
                continue
            misfits = 0
            lines.setdefault(message, []).append(line)
            if before is not None:
                lines[message].remove(before)
            taken.update(unit.sentences)
            weight += self._weights[number]
            self._covered.update(word.stem for n in unit.sentences for word in self._prose.sentences[n].words)
            words += length
        self.messages = set(lines)
        chosen = sorted((unit for units in lines.values() for unit in units), key=lambda one: one.sentences)
        return [self._told[unit] for unit in chosen]

    def _words(self, unit: Unit) -> int:
        """Return the number of words that a unit has in the summary."""
        if unit not in self._told:
            self._told[unit] = self._teller.tell(unit)
        return len(self._told[unit].split())

    def _gain(self, number: int) -> float:
        """Return the gain of a unit relative to its length."""
        unit, sentences = self._units[number], self._prose.sentences
        stems = {word.stem for n in unit.sentences for word in sentences[n].content}
        new = len(stems - self._covered) / max(1, len(stems))
        worth = self._weights[number] * (SHARE_KNOWN + (1 - SHARE_KNOWN) * new)
        return float(worth / (unit.length + SMALL_UNIT) ** LENGTH_POWER)


def _file_text(prose: Prose) -> list[str]:
    """Return the beginning of the text of a file whose summary tells no more than the description in front of it."""
    if prose.segment.ref.source_kind is not SourceKind.UPLOAD:
        return []
    return [_beginning(message) for message in prose.segment.messages[1:2] if _beginning(message)]


def _beginning(message: Message) -> str:
    return tidy(message.content[:400])[:200]


def _fallback(prose: Prose, title: str) -> str:
    """Return a summary of content without an informative sentence: its beginning, or that there is no text."""
    for message in prose.segment.messages:
        if beginning := _beginning(message):
            return f"{prose.segment.called(message) or message.role.value.capitalize()}: {beginning}"
    return f"{title}: no text."


class Themes:
    """The things, organisations and key phrases of one conversation."""

    def __init__(self, prose: Prose, names: Names, key_phrases: Sequence[str]) -> None:
        """Find them, the key phrases best first; the names of the speakers are none."""
        self._prose = prose
        speakers = set(names.speakers.values())
        named = [one.name for one in (*names.projects, *names.others) if one.name not in speakers]
        self._by_stem: dict[str, list[frozenset[str]]] = {}
        for phrase in (*named, *key_phrases[:MAX_PHRASES]):
            if stems := prose.stems(phrase):
                self._by_stem.setdefault(stems[0], []).append(frozenset(stems))

    def are_in(self, unit: Unit) -> bool:
        """Return whether a unit, or the question that it answers, names the unit's topic."""
        sentences = self._prose.sentences
        opening = unit.sentences[: OPENING if sentences[unit.sentences[0]].language == "en" else 1]
        numbers = opening if unit.before is None else (*opening, unit.before)
        stems = {word.stem for number in numbers for word in sentences[number].words}
        return any(theme <= stems for stem in stems & self._by_stem.keys() for theme in self._by_stem[stem])
