"""Evidence for topics from cue words, for each message.

This module only counts: the cues are in ``topics.toml``, and ``placement`` uses the evidence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from neurigraph_pipelines.model import ConceptKind, NodeProposal, Role
from resources.offline.keywords import ASSISTANT_WEIGHT
from resources.offline.prose import Prose, Sentence, Word

HINT_WEIGHT = 0.35
MESSAGE_CAP = 2.0
"""Limit of one message's evidence for a topic, so that a list of ingredients does not outweigh a conversation."""

HEADLINE_SHARE = 0.1
"""A cue in the title counts as one message plus this share of all messages."""

SUBTOPIC_SHARE = 0.5

Phrase = tuple[str, ...]


class CueScores:
    """The evidence of a segment's cue words.

    Attributes:
        topics: Evidence for each topic; a message with one cue counts 1.
        by_message: Evidence of each message, by its position.
        words: The cues found for each topic, as written.
    """

    def __init__(
        self,
        prose: Prose,
        cues: Mapping[Phrase, Sequence[tuple[str, float]]],
        subtopic_cues: Mapping[tuple[str, Phrase], Sequence[str]],
    ) -> None:
        """Count cues.

        Args:
            prose: The segment.
            cues: Phrases as stems, each with its topics and weights.
            subtopic_cues: Topics and phrases, each pair with its subtopics.
        """
        self.topics: defaultdict[str, float] = defaultdict(float)
        self.by_message: dict[int, dict[str, float]] = {}
        self.words: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._cues = cues
        self._subtopic_cues = subtopic_cues
        self._longest = max(map(len, cues), default=1)
        self._subtopics: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for number, sentences in prose.by_message.items():
            factor = ASSISTANT_WEIGHT if prose.segment.messages[number].role is Role.ASSISTANT else 1.0
            self.by_message[number] = self._read(sentences, factor)
            self._add(self.by_message[number])
        if prose.headline is not None:
            self._add(self._read([prose.headline], 1 + HEADLINE_SHARE * len(prose.by_message)))

    def subtopic(self, topic: str) -> NodeProposal | None:
        """Return the subtopic that dominates ``topic`` in this segment, if any."""
        counts = self._subtopics[topic]
        if not counts:
            return None
        name, count = max(counts.items(), key=lambda item: item[1])
        share = count / max(sum(counts.values()), sum(self.words[topic].values()))
        if share < SUBTOPIC_SHARE or count < 2:
            return None
        confidence = min(0.95, 0.55 + 0.1 * min(3, count) + 0.1 * share)
        found = tuple(word for word, _ in self.words[topic].most_common(6))
        return NodeProposal(name, ConceptKind.TOPIC, confidence, f"{name}, a part of {topic.lower()}.", found)

    def _add(self, evidence: Mapping[str, float]) -> None:
        for topic, weight in evidence.items():
            self.topics[topic] += weight

    def _read(self, sentences: Iterable[Sentence], factor: float) -> dict[str, float]:
        evidence: defaultdict[str, float] = defaultdict(float)
        for sentence in sentences:
            words = sentence.words
            position = 0
            while position < len(words):
                length = _match(self._cues, words[position : position + self._longest])
                phrase = tuple(word.stem for word in words[position : position + length])
                for topic, weight in self._cues.get(phrase, ()):
                    evidence[topic] += weight
                    if weight > HINT_WEIGHT:
                        self.words[topic][" ".join(w.lower for w in words[position : position + length])] += 1
                    for subtopic in self._subtopic_cues.get((topic, phrase), ()):
                        self._subtopics[topic][subtopic] += 1
                position += length or 1
        return {topic: factor * min(MESSAGE_CAP, weight) for topic, weight in evidence.items()}


def _match(cues: Mapping[Phrase, object], words: Sequence[Word]) -> int:
    """Return the length of the longest cue at the start of ``words``; 0 if there is none.

    A single word must carry meaning: ``rights`` and ``right`` have the same stem.
    """
    for length in range(len(words), 0, -1):
        if tuple(word.stem for word in words[:length]) in cues:
            return length if length > 1 or not words[0].empty else 0
    return 0
