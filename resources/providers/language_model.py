"""Filing, summaries, keywords and answers by a chat model.

Belongs here: which request is made for which part of a segment, and merging the answers. Instructions are in
``prompts``, the format of content in ``providers.transcript``, schemas in ``providers.answers``, one request in
``providers.chat``, retries and concurrency in ``providers.retries``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from neurigraph_pipelines.model import (
    AlsoRead,
    Keywords,
    Outline,
    Placement,
    PlannedNode,
    Quotable,
    Segment,
    Statement,
    Summary,
)
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import KeptFacts, TokenCounter
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.text.visible import visible
from resources.providers.answers import (
    KeywordsAnswer,
    PlacementsAnswer,
    PlanAnswer,
    StatementsAnswer,
    SummaryAnswer,
    read_keywords,
    read_placements,
    read_plan,
    read_statements,
    read_summary,
)
from resources.providers.chat import ChatModel, enclosed, prompt, unchanged
from resources.providers.fact_answers import FactsAnswer, SegmentAnswer, in_order, read_facts
from resources.providers.retries import ProviderClient, SlowAnswerError, UnusableAnswerError
from resources.providers.text_windows import split_text
from resources.providers.transcript import (
    about_text,
    condensed_transcript,
    outline_text,
    quotable_text,
    segment_descriptions,
    transcript_windows,
)
from resources.providers.verdict_answers import VerdictsAnswer, pairs_text, read_verdicts
from resources.well_formed import well_formed

if TYPE_CHECKING:
    from openai import OpenAI

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")

_OUTLINE_SHARE = 0.25
"""Share of the context that the outline of a large graph may use."""

_FACTS_WINDOW_TOKENS = 8_000

_AT_ONCE_TOKENS = 16_000
"""Least tokens of content in a call from which a model has room for three instructions (3,400 tokens) and answers."""


class OpenAiLanguageModel:
    """Implements ``ports.LanguageModel`` over the chat completions of the OpenAI protocol.

    Content longer than ``context_tokens`` is summarised in concurrent windows, and the summaries are merged; keywords
    of windows are merged; for filing, one condensed transcript is sent. Content is always data: marker lines that it
    cannot predict enclose it, and answers must match their schema and are checked.

    Args:
        model: The service's name of the model.
        client: Sends the requests; its concurrency is the limit over all calls.
        tokens: Counts tokens; an estimate is enough, since ``context_tokens`` leaves a margin.
        context_tokens: Tokens of content in one call.
        is_compatible: Whether the server is another one than OpenAI's: then it need not support structured outputs.
    """

    def __init__(
        self,
        model: str,
        client: ProviderClient,
        tokens: TokenCounter,
        context_tokens: int = 100_000,
        *,
        is_compatible: bool = False,
    ) -> None:
        self._chat = ChatModel(model, is_compatible=is_compatible)
        self.name = self._chat.name
        self._client = client
        self._tokens = tokens
        self._context_tokens = context_tokens

    @property
    def concurrency(self) -> int:
        """How many calls may run at once."""
        return self._client.concurrency

    @measured("model.plan")
    def plan(self, segments: Sequence[Segment], outline: Outline) -> list[PlannedNode]:
        """Return the nodes that several segments will need beside those of the outline, in one call.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        outline_tokens = int(self._context_tokens * _OUTLINE_SHARE)
        described = segment_descriptions(segments, self._context_tokens - outline_tokens, self._tokens)
        nodes = outline_text(outline, described, outline_tokens, self._tokens)
        question = enclosed({"OUTLINE": nodes, "DESCRIPTIONS": described})
        return read_plan(self._client.call(*self._call(prompt("plan"), question, PlanAnswer, unchanged)))

    @measured("model.place")
    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Decide which nodes a segment belongs to.

        Returns:
            At least one placement; ranges lie within the segment and need not cover it: the domain's rules place the
            other messages.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused permanently, or its answers were unusable.
        """
        outline_tokens = int(self._context_tokens * _OUTLINE_SHARE)
        content = condensed_transcript(segment, self._context_tokens - outline_tokens, self._tokens)
        nodes = outline_text(outline, content, outline_tokens, self._tokens)

        def read(answer: PlacementsAnswer) -> list[Placement]:
            return read_placements(answer, segment)

        question = enclosed({"ABOUT": about_text(segment), "OUTLINE": nodes, "TRANSCRIPT": content})
        return self._client.call(*self._call(prompt("placement"), question, PlacementsAnswer, read))

    @measured("model.summarize")
    def summarize(self, segment: Segment, words: int) -> Summary:
        """Return an index entry of about ``words`` words, and a title.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        about = about_text(segment)
        windows = [{"ABOUT": about, "TRANSCRIPT": window} for window in self._windows(segment)]
        parts = self._summaries("summary", words, windows)
        return parts[0] if len(parts) == 1 else self.merge(parts, words)

    @measured("model.read_segment")
    def read(self, segment: Segment, words: int) -> Summary:
        """Return a summary, and the keywords and facts that one call reads with it where text and context allow.

        A model whose answers to all three at once are unusable, or too slow, is asked for the summary alone.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        windows = self._fact_windows(segment)
        if len(windows) > 1 or self._context_tokens < _AT_ONCE_TOKENS:
            return self.summarize(segment, words)
        blocks = {"ABOUT": about_text(segment), "TRANSCRIPT": windows[0]}
        authors = {message.seq: message.author for message in segment.messages}
        parts = {"summary": prompt("summary").replace("{words}", str(words))}
        parts |= {kind: prompt(kind) for kind in ("keywords", "facts")}

        def read(answer: SegmentAnswer) -> Summary | None:
            summary = read_summary(answer.entry)
            if summary is None:
                return None
            facts = tuple(in_order([read_facts(answer.facts, authors)]))
            also = AlsoRead(read_keywords([answer.keywords]), facts, self._digest(blocks).hex())
            return replace(summary, also=also)

        try:
            ask = self._call(prompt("segment").format(**parts), enclosed(blocks), SegmentAnswer, read)
            return self._client.call(*ask)
        except (UnusableAnswerError, SlowAnswerError):
            return self.summarize(segment, words)

    @measured("model.merge")
    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        """Return one summary of several in about ``words`` words, and a title.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        while True:
            parts = self._summaries("merge", words, [{"PARTS": group} for group in self._groups(parts)])
            if len(parts) == 1:
                return parts[0]

    @measured("model.extract_keywords")
    def extract_keywords(self, segment: Segment) -> Keywords:
        """Return entities, topics, resolved dates and relationships.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        instructions = prompt("keywords")
        asks = [
            self._call(
                instructions,
                enclosed({"ABOUT": about_text(segment), "TRANSCRIPT": window}),
                KeywordsAnswer,
                unchanged,
            )
            for window in self._windows(segment)
        ]
        return read_keywords(self._client.call_all(asks))

    @measured("model.extract_facts")
    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        """Return the facts that the messages state; windows are small, because facts are missed in long ones.

        Args:
            segment: The messages.
            kept: Has the facts of windows that were read before, with the summary or before a crash. Where there are
                several windows, each is kept as soon as it is read.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        windows = self._fact_windows(segment)
        authors = {message.seq: message.author for message in segment.messages}
        found: list[list[ReadFact] | None] = [None] * len(windows)
        asks = []
        for number, window in enumerate(windows):
            blocks = {"ABOUT": about_text(segment), "TRANSCRIPT": window}
            digest = self._digest(blocks)
            if kept is not None:
                found[number] = kept.find(digest)
            if found[number] is None:
                asks.append(self._facts_call(blocks, digest, authors, kept if len(windows) > 1 else None))
        asked = iter(self._client.call_all(asks))
        return in_order(next(asked) if known is None else known for known in found)

    def _digest(self, blocks: dict[str, str]) -> bytes:
        """Return the digest of all that is asked about a window."""
        return sha256(json.dumps([self.name, prompt("facts"), *blocks.values()]).encode()).digest()

    def _facts_call(
        self, blocks: dict[str, str], digest: bytes, authors: Mapping[int, str | None], kept: KeptFacts | None
    ) -> tuple[Callable[[OpenAI], list[ReadFact]], int]:
        """Return the call for the facts of one window, which keeps them once they are read."""
        window = blocks["TRANSCRIPT"]
        ask, tokens = self._call(prompt("facts"), enclosed(blocks), FactsAnswer, unchanged)

        def ask_and_keep(client: OpenAI) -> list[ReadFact]:
            facts = read_facts(ask(client), authors)
            return facts if kept is None else kept.keep(digest, facts, len(window.split()), self._tokens.count(window))

        return ask_and_keep, tokens

    @measured("model.judge")
    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return the effect of the later fact of each pair on the earlier one, in one call.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        if not pairs:
            return []

        def read(answer: VerdictsAnswer) -> list[Judgement]:
            return read_verdicts(answer, pairs)

        question = enclosed({"FACTS": pairs_text(pairs)})
        return self._client.call(*self._call(prompt("verdicts"), question, VerdictsAnswer, read))

    @measured("model.answer")
    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        """Return a short answer from the passages alone; empty if the passages do not contain one.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        asked = f"Asked on {asked_at:%A %Y-%m-%d %H:%M}: {well_formed(question)}"
        blocks = enclosed({"QUESTION": asked, "PASSAGES": visible(quotable_text(self._fitting(quotable)))})
        return read_statements(
            self._client.call(partial(self._chat.ask, prompt("answer"), blocks, StatementsAnswer, unchanged))
        )

    def _fitting(self, quotable: Sequence[Quotable]) -> Sequence[Quotable]:
        """Return the first passages of the passages that fit one call; at least one."""
        room = self._context_tokens
        for number, one in enumerate(quotable):
            room -= self._tokens.count(quotable_text([one]))
            if room < 0 < number:
                return quotable[:number]
        return quotable

    def _fact_windows(self, segment: Segment) -> list[str]:
        """Return the segment as transcripts that are each short enough to miss few facts."""
        return transcript_windows(segment, min(self._context_tokens, _FACTS_WINDOW_TOKENS), self._tokens)

    def _windows(self, segment: Segment) -> list[str]:
        """Return the segment as transcripts that each fit one call."""
        return transcript_windows(segment, self._context_tokens, self._tokens)

    def _summaries(self, kind: str, words: int, contents: Sequence[dict[str, str]]) -> list[Summary]:
        """Return one summary for each content, which consists of named blocks."""
        instructions = prompt(kind).replace("{words}", str(words))
        asks = [self._call(instructions, enclosed(blocks), SummaryAnswer, read_summary) for blocks in contents]
        return self._client.call_all(asks)

    def _groups(self, parts: Sequence[Summary]) -> Iterator[str]:
        """Yield groups of summaries to merge: as many as fit one call, and at least two."""
        group: list[str] = []
        size = 0
        for number, part in enumerate(parts, start=1):
            whole = f"Part {number}: {part.title}\n{part.text}"
            entry = split_text(whole, self._context_tokens // 2, self._tokens)[0]  # two fit one call
            cost = self._tokens.count(entry)
            if len(group) > 1 and size + cost > self._context_tokens:
                yield "\n\n".join(group)
                group, size = [], 0
            group.append(entry)
            size += cost
        yield "\n\n".join(group)

    def _call(
        self, instructions: str, question: str, shape: type[A], read: Callable[[A], R | None]
    ) -> tuple[Callable[[OpenAI], R], int]:
        """Return a call for ``ProviderClient``, and about how many tokens it sends."""
        ask = partial(self._chat.ask, instructions, question, shape, read)
        return ask, self._tokens.count(instructions) + self._tokens.count(question)
