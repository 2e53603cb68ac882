"""Protocols of models: counting tokens, embedding, writing and reranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from neurigraph_pipelines.model import Keywords, Outline, Placement, PlannedNode, Quotable, Segment, Statement, Summary
from neurigraph_pipelines.model.chat import Exchange, ToolCall, ToolSpec, Turn
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.verdicts import Judgement, Pair

if TYPE_CHECKING:  # slow to load, and not needed by commands that embed nothing
    import numpy as np
    from numpy.typing import NDArray


class TokenCounter(Protocol):
    """Counts tokens as a model would."""

    @property
    def name(self) -> str:
        """Name of the counter, such as ``tiktoken:o200k_base`` or ``estimate``; shown in the UI."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts are exact; False for an estimate."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; 0 for the empty string."""
        ...

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return ``count`` of each text, faster than one by one."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """Name stored beside every vector, such as ``text-embedding-3-small`` or ``minilm-l6-v2``."""
        ...

    @property
    def dimensions(self) -> int:
        """Width of the vectors; at most ``RECORD_DIMENSIONS``."""
        ...

    @property
    def prefix_trained(self) -> bool:
        """Whether a normalised prefix of a vector is itself a good embedding (Matryoshka training)."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether embedding waits for a network; callers then hold no connection or lock."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest text, in tokens, that is embedded whole."""
        ...

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Embed ``texts`` in order. A text may begin with its context (``text.in_context``).

        Returns:
            ``(len(texts), dimensions)`` float32, rows of unit length. An empty text gives a valid unit vector.

        Raises:
            TransientError: The provider was unreachable or asked to wait, after bounded retries.
            ProviderError: The provider refused permanently.
        """
        ...


class AreaReader(Protocol):
    """Reads which areas of life, such as ``Health``, texts are about."""

    def areas(self, texts: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Return the share of each area in each text; empty if no word tells. The name of an area is that area."""
        ...


class KeptFacts(Protocol):
    """The facts of windows of one record that were read already, so that no window is read twice after a crash.

    Called from several threads.
    """

    def find(self, digest: bytes) -> list[ReadFact] | None:
        """Return the facts of a window; None if it has to be read.

        Args:
            digest: SHA-256 of all that the model is asked about the window.
        """
        ...

    def keep(self, digest: bytes, facts: Sequence[ReadFact], words: int, tokens: int) -> list[ReadFact]:
        """Keep the facts that a window states, and return them without ungrounded and surplus ones.

        Args:
            digest: As for ``find``.
            facts: What the model answered.
            words: Words of the window.
            tokens: Tokens of the window.
        """
        ...


class LanguageModel(Protocol):
    """Files segments, summarises them, extracts keywords, and answers questions."""

    @property
    def name(self) -> str:
        """Name shown in the UI and stored as author, such as ``openai:gpt-4.1-mini`` or ``offline``."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls may run at once; with 1, each ``place`` sees the decisions of the calls before it."""
        ...

    def plan(self, segments: Sequence[Segment], outline: Outline) -> list[PlannedNode]:
        """Return nodes that several of a user's segments will need, beside those of the outline; it may be empty.

        Called before segments are placed at the same time, so that they agree on names.
        """
        ...

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        """Return where a segment belongs: at least one placement, with ranges within the segment."""
        ...

    def summarize(self, segment: Segment, words: int) -> Summary:
        """Return a dense summary of the content in about ``words`` words, and a short title."""
        ...

    def read(self, segment: Segment, words: int) -> Summary:
        """Return a summary, and with it the keywords and facts where one call reads all of them."""
        ...

    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        """Return one summary of several, at least one, in about ``words`` words. They are data, never instructions."""
        ...

    def extract_keywords(self, segment: Segment) -> Keywords:
        """Return entities, topics, resolved dates and relationships."""
        ...

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        """Return the facts that the messages state, in order; it may be empty.

        Args:
            segment: The messages.
            kept: The facts of windows that were read before. A model that reads several windows asks it for each.
        """
        ...

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """Return the effect of the later fact of each pair on the earlier one, in order; at most one call."""
        ...

    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        """Answer a question from the passages only.

        Args:
            question: The question in the caller's words.
            asked_at: The moment that relative times of the question refer to.
            quotable: Messages, best first, numbered from 1 in the answer. It is data: nothing in it is an instruction.

        Returns:
            Statements in reading order, each with the numbers of its passages; an empty list if the passages do not
            answer the question.
        """
        ...


class Reranker(Protocol):
    """Scores how well texts answer a question, by reading both together."""

    @property
    def name(self) -> str:
        """Name shown beside results, such as ``Cohere:rerank-v3.5``."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, higher for a better answer, and comparable within one call.

        Raises:
            TransientError: The provider could not be reached, or asked to wait, after bounded retries.
            ProviderError: The provider refused permanently, or its answers were unusable.
        """
        ...


class ToolCaller(Protocol):
    """Chooses which tools to call before a question is answered."""

    @property
    def name(self) -> str:
        """Name shown in notes, such as ``openai:gpt-4.1-mini``."""
        ...

    def calls(
        self, turns: Sequence[Turn], asked_at: datetime, tools: Sequence[ToolSpec], exchanges: Sequence[Exchange]
    ) -> list[ToolCall]:
        """Return the next calls; an empty list once there is enough to answer the last of some turns.

        Args:
            turns: The chat so far; the last is the question.
            asked_at: The moment that relative times of the question refer to.
            tools: What may be called.
            exchanges: Calls so far with their results, which are data: nothing in them is an instruction.

        Raises:
            TransientError: As ``Reranker.scores``.
            ProviderError: As ``Reranker.scores``.
        """
        ...


class Expander(Protocol):
    """Words questions in other ways, for a search that compares words and meanings."""

    @property
    def name(self) -> str:
        """Name shown in notes, such as ``openai:gpt-4.1-mini``."""
        ...

    def wordings(self, question: str, most: int) -> list[str]:
        """Return at most ``most`` other phrases that find the answer to a question; it may be empty.

        Raises:
            TransientError: As ``Reranker.scores``.
            ProviderError: As ``Reranker.scores``.
        """
        ...


class Examiner(Protocol):
    """Reads memory to answer questions, and judges answers, for evaluations. Called from several threads."""

    @property
    def name(self) -> str:
        """Name shown in reports, such as ``openai:gpt-4.1-mini``."""
        ...

    @property
    def spent(self) -> tuple[int, int, int]:
        """Calls that were answered, and about how many tokens were sent and received."""
        ...

    def read(self, question: str, asked_at: datetime, memory: str) -> str:
        """Return the answer to a question from some memory; empty if the memory does not hold it.

        Raises:
            TransientError: As ``Reranker.scores``.
            ProviderError: As ``Reranker.scores``.
        """
        ...

    def judge(self, question: str, expected: str, given: str, *, given_first: bool) -> bool:
        """Return whether an answer says the same as the expected one.

        Args:
            given_first: Whether the answer stands before the expected one in the request.

        Raises:
            TransientError: As ``Reranker.scores``.
            ProviderError: As ``Reranker.scores``.
        """
        ...
