"""The language model without a model: rules, word lists and, where there is one, an embedder.

No network of its own, deterministic, linear in the length of the content. The parts stand in ``resources.offline``;
this module only puts them behind the port.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from neurigraph_pipelines.model import Evidence, Keywords, Outline, Placement, Segment, Statement, Summary
from neurigraph_pipelines.ports import Embedder
from resources.offline import answers, keywords, summaries
from resources.offline.placement import Placer
from resources.offline.prose import Prose


class OfflineLanguageModel:
    """Implements ``neurigraph_pipelines.ports.LanguageModel``."""

    name: str = "offline"
    concurrency: int = 1

    def __init__(self, embedder: Embedder | None, language: str = "english") -> None:
        """Load what is needed on first use.

        Args:
            embedder: Helps to find topics and answers by meaning; without one, words decide.
            language: Snowball language of the stems; word lists are English.
        """
        self._embedder = embedder
        self._language = language
        self._placer = Placer(embedder, language)

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Where each part of the segment goes: topic, then subtopic, person or project. Mostly it is one part."""
        return self._placer.place(Prose(segment, self._language), outline)

    def summarize(self, segment: Segment, words: int) -> Summary:
        """The most telling sentences in about ``words`` words, at most 180, and a title."""
        return summaries.summarize(Prose(segment, self._language), words)

    def extract_keywords(self, segment: Segment) -> Keywords:
        """Names, telling phrases, dates resolved against each message's time, and stated relationships."""
        return keywords.extract(Prose(segment, self._language))

    def answer(self, question: str, asked_at: datetime, evidence: Sequence[Evidence]) -> list[Statement]:
        """The sentences of the evidence that say most of what was asked."""
        return answers.answer(question, evidence, self._embedder, self._language)
