"""Weights of topics from cue words, for each message.

This module only counts: the cues are in ``topics.toml``, and ``areas`` uses the weights.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from neurigraph_pipelines.model import Role
from resources.offline.keywords import ASSISTANT_WEIGHT
from resources.offline.prose import Prose, Sentence, Word

HINT_WEIGHT = 0.35
MESSAGE_CAP = 2.0
"""Limit of one message's weight for a topic, so that a list of ingredients does not outweigh a conversation."""

HEADLINE_SHARE = 0.1
"""A cue in the title counts as one message plus this share of all messages."""

LEAST_OF_COMPOUND = 4
"""Letters of a cue that is looked for at the ends of a compound."""

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class CueTable:
    """Phrases of one language as stems.

    Attributes:
        topics: The topics of each phrase, with weights.
        subtopics: The subtopics of each topic and phrase.
        has_compounds: Whether a word can be a cue with others before or behind it (German ``Wasserschaden``).
    """

    topics: Mapping[Phrase, Sequence[tuple[str, float]]]
    subtopics: Mapping[tuple[str, Phrase], Sequence[str]] = field(default_factory=dict)
    has_compounds: bool = False

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """The length of the longest cue that begins with a stem."""
        found: dict[str, int] = {}
        for phrase in self.topics:
            found[phrase[0]] = max(len(phrase), found.get(phrase[0], 0))
        return found

    def match(self, words: Sequence[Word], position: int) -> Phrase:
        """Return the longest cue at ``position``; empty if there is none.

        A single word must carry meaning: ``rights`` and ``right`` have the same stem.
        """
        first = words[position]
        for length in range(self.lengths.get(first.stem, 0), 0, -1):
            phrase = tuple(word.stem for word in words[position : position + length])
            if phrase in self.topics:
                return phrase if length > 1 or not first.empty else ()
        return self._within(first.stem) if self.has_compounds else ()

    def matches(self, words: Sequence[Word]) -> Iterator[tuple[int, Phrase]]:
        """Yield the cues in words, each with its position; none overlaps another."""
        position = 0
        while position < len(words):
            phrase = self.match(words, position)
            if phrase:
                yield position, phrase
            position += len(phrase) or 1

    def _within(self, stem: str) -> Phrase:
        for length in range(len(stem) - 3, LEAST_OF_COMPOUND - 1, -1):
            found = next((piece for piece in (stem[-length:], stem[:length]) if (piece,) in self.topics), None)
            if found:
                return (found,)
        return ()


class CueScores:
    """The weights of a segment's cue words.

    Attributes:
        topics: The weight of each topic; a message with one cue counts 1.
        by_message: The weights of each message, by its position.
        words: The cues found for each topic, as written.
        subtopics: How often a cue of each subtopic was found, by topic.
    """

    def __init__(self, prose: Prose, table: Callable[[str], CueTable]) -> None:
        """Count cues.

        Args:
            prose: The segment.
            table: Returns the cues of a language.
        """
        self.topics: defaultdict[str, float] = defaultdict(float)
        self.by_message: dict[int, dict[str, float]] = {}
        self.words: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subtopics: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._table = table
        for number, sentences in prose.by_message.items():
            factor = ASSISTANT_WEIGHT if prose.segment.messages[number].role is Role.ASSISTANT else 1.0
            self.by_message[number] = self._read(sentences, factor)
            self._add(self.by_message[number])
        if prose.headline is not None:
            self._add(self._read([prose.headline], 1 + HEADLINE_SHARE * len(prose.by_message)))

    def _add(self, weights: Mapping[str, float]) -> None:
        for topic, weight in weights.items():
            self.topics[topic] += weight

    def _read(self, sentences: Iterable[Sentence], factor: float) -> dict[str, float]:
        weights: defaultdict[str, float] = defaultdict(float)
        for sentence in sentences:
            table = self._table(sentence.language)
            words = sentence.words
            for position, phrase in table.matches(words):
                for topic, weight in table.topics[phrase]:
                    weights[topic] += weight
                    if weight > HINT_WEIGHT:
                        shown = " ".join(word.lower for word in words[position : position + len(phrase)])
                        self.words[topic][shown] += 1
                    for subtopic in table.subtopics.get((topic, phrase), ()):
                        self.subtopics[topic][subtopic] += 1
        return {topic: factor * min(MESSAGE_CAP, weight) for topic, weight in weights.items()}
