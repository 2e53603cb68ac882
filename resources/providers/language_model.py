"""Filing, summaries, keywords and answers by a chat model that answers in structured outputs.

Belongs here: which question is asked about which part of a segment, and how parts are put together again. Not
here: the wording of instructions (``prompts``), how content is shown (``model_transcript``), the shapes of
answers (``model_answers``), retries and concurrency (``provider_retries``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from neurigraph_pipelines.errors import ProviderError
from neurigraph_pipelines.model import Evidence, Keywords, Outline, Placement, Segment, Statement, Summary
from neurigraph_pipelines.ports import TokenCounter
from resources.providers.answers import (
    KeywordsAnswer,
    PlacementsAnswer,
    StatementsAnswer,
    SummaryAnswer,
    read_keywords,
    read_placements,
    read_statements,
    read_summary,
)
from resources.providers.retries import ProviderClient, UnusableAnswerError
from resources.providers.transcript import condensed_transcript, evidence_text, outline_text, transcript_windows
from resources.well_formed import well_formed

if TYPE_CHECKING:
    from openai import OpenAI

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")

_OUTLINE_SHARE = 0.25
"""Part of the context that the outline of a large graph may take."""


class OpenAiLanguageModel:
    """Implements ``ports.LanguageModel`` over the chat completions of the OpenAI protocol.

    Content longer than ``context_tokens`` is summarised in windows, concurrently, and the summaries are
    merged; keywords are joined; for filing, one view of the whole is sent in which messages are cut short.
    Content is always data: it stands between marker lines that it cannot know, and answers are taken only in
    their schema and checked.

    Args:
        model: The service's name of the model; it must support structured outputs.
        client: Reaches the service; its concurrency is the limit over all calls.
        tokens: Measures content; an estimate will do, since ``context_tokens`` leaves room.
        context_tokens: Tokens of content in one call.
    """

    def __init__(self, model: str, client: ProviderClient, tokens: TokenCounter, context_tokens: int = 100_000) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._client = client
        self._tokens = tokens
        self._context_tokens = context_tokens

    @property
    def concurrency(self) -> int:
        """How many calls may run at once."""
        return self._client.concurrency

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Say which nodes a segment belongs to.

        Returns:
            At least one placement; ranges lie within the segment and may leave messages to the domain's
            rules.

        Raises:
            TransientError: The service could not be reached, or asked to wait, after bounded retries.
            ProviderError: The service refused for good, or kept answering with something unusable.
        """
        outline_tokens = int(self._context_tokens * _OUTLINE_SHARE)
        content = condensed_transcript(segment, self._context_tokens - outline_tokens, self._tokens)
        nodes = outline_text(outline, content, outline_tokens, self._tokens)

        def read(answer: PlacementsAnswer) -> list[Placement]:
            return read_placements(answer, segment)

        question = _question({"OUTLINE": nodes, "TRANSCRIPT": content})
        return self._client.call(*self._asking(_prompt("placement"), question, PlacementsAnswer, read))

    def summarize(self, segment: Segment, words: int) -> Summary:
        """An index entry of about ``words`` words, and a title.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        parts = self._summaries("summary", "TRANSCRIPT", words, self._windows(segment))
        while len(parts) > 1:
            parts = self._summaries("merge", "PARTS", words, list(self._groups(parts)))
        return parts[0]

    def extract_keywords(self, segment: Segment) -> Keywords:
        """Entities, topics, resolved dates and relationships.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        prompt = _prompt("keywords")
        asks = [
            self._asking(prompt, _question({"TRANSCRIPT": window}), KeywordsAnswer, _itself)
            for window in self._windows(segment)
        ]
        return read_keywords(self._client.call_all(asks))

    def answer(self, question: str, asked_at: datetime, evidence: Sequence[Evidence]) -> list[Statement]:
        """A short answer from the evidence alone; none when it does not hold one.

        Raises:
            TransientError: As ``place``.
            ProviderError: As ``place``.
        """
        asked = f"Asked on {asked_at:%A %Y-%m-%d %H:%M}: {well_formed(question)}"
        blocks = _question({"QUESTION": asked, "PASSAGES": evidence_text(evidence)})
        return read_statements(
            self._client.call(partial(self._ask, _prompt("answer"), blocks, StatementsAnswer, _itself))
        )

    def _windows(self, segment: Segment) -> list[str]:
        """The segment as transcripts that fit one call."""
        return transcript_windows(segment, self._context_tokens, self._tokens)

    def _summaries(self, prompt: str, block: str, words: int, contents: Sequence[str]) -> list[Summary]:
        """One summary for each content."""
        instructions = _prompt(prompt).replace("{words}", str(words))
        asks = [
            self._asking(instructions, _question({block: content}), SummaryAnswer, read_summary) for content in contents
        ]
        return self._client.call_all(asks)

    def _groups(self, parts: Sequence[Summary]) -> Iterator[str]:
        """Summaries joined for merging: as many as fit one call, and always more than one."""
        group: list[str] = []
        size = 0
        for number, part in enumerate(parts, start=1):
            entry = f"Part {number}: {part.title}\n{part.text}"
            cost = self._tokens.count(entry)
            if len(group) > 1 and size + cost > self._context_tokens:
                yield "\n\n".join(group)
                group, size = [], 0
            group.append(entry)
            size += cost
        yield "\n\n".join(group)

    def _asking(
        self, instructions: str, question: str, shape: type[A], read: Callable[[A], R | None]
    ) -> tuple[Callable[[OpenAI], R], int]:
        """A call to be made, and about how many tokens it sends."""
        ask = partial(self._ask, instructions, question, shape, read)
        return ask, self._tokens.count(instructions) + self._tokens.count(question)

    def _ask(
        self,
        instructions: str,
        question: str,
        shape: type[A],
        read: Callable[[A], R | None],
        client: OpenAI,
    ) -> R:
        """Ask once and read the answer; ``read`` gives None or nothing for an answer without substance."""
        completion = client.chat.completions.create(
            model=self._model,
            messages=[{"role": "system", "content": instructions}, {"role": "user", "content": question}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": shape.__name__, "schema": shape.model_json_schema(), "strict": True},
            },
        )
        try:
            choice = completion.choices[0]
            message = choice.message
            refusal, content, ending = message.refusal, message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError) as error:
            raise UnusableAnswerError(f"{self.name} answered without a message.") from error
        if refusal or ending == "content_filter":
            raise ProviderError(f"{self.name} declined to answer about this content.")
        if ending == "length":
            raise UnusableAnswerError(f"{self.name} broke off its answer at its length limit.")
        try:
            answer = read(shape.model_validate_json(content or ""))
        except ValidationError as error:
            raise UnusableAnswerError(f"{self.name} answered in another shape than asked for.") from error
        if not answer:
            raise UnusableAnswerError(f"{self.name} gave an answer without content.")
        return answer


def _itself(answer: A) -> A:
    """What has no substance may be an answer, too, or is known when all windows have answered."""
    return answer


def _question(blocks: dict[str, str]) -> str:
    """Content between marker lines, which bear a number of this one question and cannot be forged."""
    mark = secrets.token_hex(8)
    return "\n\n".join(f"BEGIN {name} {mark}\n{text}\nEND {name} {mark}" for name, text in blocks.items())


@cache
def _prompt(name: str) -> str:
    """The instructions of one question."""
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8")
