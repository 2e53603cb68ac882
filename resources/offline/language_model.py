"""The language model port implemented by rules, word lists and an optional embedder.

It uses no network itself, is deterministic, and runs in linear time. This module only connects the other modules of the
package to the port.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from neurigraph_pipelines.model import Keywords, Outline, Placement, PlannedNode, Quotable, Segment, Statement, Summary
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Embedder, KeptFacts
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.text.languages import CODES
from resources.offline import answers, facts, keywords, summaries, verdicts
from resources.offline.placement import Placer
from resources.offline.prose import Prose


class OfflineLanguageModel:
    """Implements ``neurigraph_pipelines.model.ports.LanguageModel``."""

    name: str = "offline"
    concurrency: int = 1

    def __init__(self, embedder: Embedder | None, language: str = "english") -> None:
        """Create the model; data files are loaded on first use.

        Args:
            embedder: Improves topics and answers by meaning; without one, only words count.
            language: Snowball's name of the language of texts that do not tell their own.
        """
        self._embedder = embedder
        self._language = CODES[language]
        self._placer = Placer(embedder)

    @measured("model.plan")
    def plan(self, segments: Sequence[Segment], outline: Outline) -> list[PlannedNode]:
        """Return nothing: segments are placed one after another."""
        return []

    @measured("model.place")
    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Return a path for each part of the segment: topic, then subtopic, person or project. Most have one part."""
        return self._placer.place(Prose(segment, self._language), outline)

    @measured("model.summarize")
    def summarize(self, segment: Segment, words: int) -> Summary:
        """Return the most informative sentences in about ``words`` words, at most 180, and a title."""
        return summaries.summarize(Prose(segment, self._language), words)

    @measured("model.merge")
    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        """Return the first sentences of parts that are spread evenly, and the titles of the first and the last."""
        return summaries.merge(parts, words)

    def read(self, segment: Segment, words: int) -> Summary:
        """Return a summary."""
        return self.summarize(segment, words)

    @measured("model.extract_keywords")
    def extract_keywords(self, segment: Segment) -> Keywords:
        """Return names, key phrases, dates resolved against each message's time, and stated relationships."""
        return keywords.extract(Prose(segment, self._language))

    @measured("model.extract_facts")
    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        """Return the sentences worth remembering, each so that it can be understood alone; they are read at once."""
        return facts.extract(Prose(segment, self._language))

    @measured("model.judge")
    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return the effect of the later fact of each pair on the earlier one, by rule."""
        return [verdicts.judge(pair) for pair in pairs]

    @measured("model.answer")
    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        """Return the sentences of the passages that best match the question."""
        return answers.answer(question, quotable, self._embedder, self._language)
