"""Asks questions in several ways: by the block for a prompt, by a search, and by four controls on the same budgets.

The controls are the whole history cut to the budget, nothing, a plain hybrid ranking, and the sources themselves.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import AccountError, ProviderError, TransientError
from neurigraph_pipelines.model.ports import Examiner
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.prompt import Format, PromptRequest, prompt_context
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.runtime.evaluation.history import History, key_of
from neurigraph_pipelines.runtime.evaluation.ranking import fuse_by_rank, rank_by_bm25, rank_by_cosine
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion
from neurigraph_pipelines.runtime.evaluation.scoring import Outcome, compared, judged
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.profiles import PromptContext

BUDGETS = (500, 1_000, 1_500)
"""Tokens of what a reader gets."""

DEPTHS = (1, 5, 10)
"""Numbers of first messages of a ranking."""

MESSAGES = 200
"""Messages of a search: more than fit into the largest budget."""

CONTEXT, SEARCH, HYBRID = "context", "search", "plain hybrid"
EVERYTHING, NOTHING, ORACLE = "everything", "nothing", "oracle"
WAYS = (CONTEXT, SEARCH, HYBRID, EVERYTHING, NOTHING, ORACLE)
ANSWERED = (CONTEXT, HYBRID, EVERYTHING, NOTHING, ORACLE)
"""The ways whose memory is read for an answer."""

_CITATION = re.compile(r"(?:\s*\[\d{1,3}\])+$", re.MULTILINE)


class Readers(NamedTuple):
    """Who reads and who judges; without a reader the offline model reads, and without a judge words are compared.

    Attributes:
        is_asked: Whether there are answers at all, and not only sources found.
    """

    reader: Examiner | None = None
    judge: Examiner | None = None
    is_asked: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """How one question was answered.

    Attributes:
        sample: The history that it was asked of.
        recall: For each way the share of the sources within each of ``BUDGETS``; empty without any.
        hits: For each ranking the share of the sources among the first of each of ``DEPTHS``.
        missed: Messages of the sources that the largest block lacks, as lines.
        unknown: Sources that no stored message has.
        outcomes: The answer by each way.
        seconds: How long each call took.
        tokens: Tokens of the largest block.
    """

    sample: str
    asked: LabelledQuestion
    recall: Mapping[str, tuple[float, ...]]
    hits: Mapping[str, tuple[float, ...]]
    missed: tuple[str, ...]
    unknown: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    seconds: Mapping[str, float]
    tokens: int


@dataclass(slots=True)
class _Given:
    """The results of each way for a question."""

    ranked: dict[str, list[str]]
    blocks: dict[int, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    text: str = ""
    tokens: int = 0

    @contextmanager
    def timed(self, call: str) -> Iterator[None]:
        """Note how long the first such call takes."""
        started = time.perf_counter()
        yield
        self.seconds.setdefault(call, time.perf_counter() - started)


class Asking:
    """Asks questions of one graph, which they leave as it is.

    Args:
        context: Of the caller whose graph it is.
        history: All messages of the graph, at least one.
        readers: Who reads and judges.
        ended_at: When questions without a time are asked; None is now.
    """

    def __init__(self, context: Context, history: History, readers: Readers, ended_at: datetime | None = None) -> None:
        self._context, self._history, self._readers = context, history, readers
        self._moment = ended_at or datetime.now(UTC)
        self._lexer = lexer_of(context.settings.language)
        texts = {key: f"{one.quotable.speaker}: {one.message.content}" for key, one in history.messages.items()}
        self._hybrid = fuse_by_rank(rank_by_cosine(texts, context.embedder), rank_by_bm25(texts))
        self._block("anything", self._moment, BUDGETS[-1], "json")  # loads the graph, which is not what is timed

    def ask(self, sample: str, asked: LabelledQuestion) -> Result:
        """Ask one question in every way.

        Raises:
            AccountError: A model's provider refuses the account.
        """
        query, moment = asked.text[:MAX_QUERY_CHARACTERS], asked.asked_at or self._moment
        items = {source: self._history.named(source) for source in sorted(asked.sources)}
        wanted = [keys for keys in items.values() if keys]
        sources = frozenset[str]().union(*wanted)
        given = self._given(query, moment, sources)
        within = {way: [self._history.within(order, most) for most in BUDGETS] for way, order in given.ranked.items()}
        within[CONTEXT] = [given.blocks[most] for most in BUDGETS]
        outcomes = self._outcomes(asked, query, moment, given, {way: keys[-1] for way, keys in within.items()})
        found = set(within[CONTEXT][-1])
        return Result(
            sample,
            asked,
            {way: tuple(_recall(keys, wanted) for keys in within[way]) for way in WAYS if wanted},
            {
                way: tuple(_recall(given.ranked[way][:depth], wanted) for depth in DEPTHS)
                for way in (SEARCH, HYBRID)
                if wanted
            },
            tuple(self._history.text(keys).partition("\n")[0] for keys in wanted if not keys & found),
            tuple(source for source, keys in items.items() if not keys),
            outcomes,
            given.seconds,
            given.tokens,
        )

    def _given(self, query: str, moment: datetime, sources: frozenset[str]) -> _Given:
        """Return the result of each way; a block for each budget, of which the largest is timed."""
        everything = list(self._history.lines)
        given = _Given({NOTHING: [], EVERYTHING: everything[::-1]})
        for most in BUDGETS[::-1]:
            with given.timed(CONTEXT):
                block = self._block(query, moment, most, "json")
            given.tokens = max(given.tokens, block.tokens)
            given.blocks[most] = [key_of(one.record_id, one.message) for one in block.lines or ()]
        if self._readers.reader is not None:
            given.text = self._block(query, moment, BUDGETS[-1], "text").text or ""
        with given.timed(SEARCH):
            question = Question(query, message_limit=MESSAGES)
            found = search(self._context, question, asked_at=moment, is_noted=False)
        keys = [key_of(one.record_id, one.seq) for one in found.messages]
        given.ranked[SEARCH] = [key for key in keys if key in self._history.lines]
        given.ranked[HYBRID] = self._hybrid(query)
        given.ranked[ORACLE] = [key for key in everything if key in sources]
        return given

    def _block(self, query: str, moment: datetime, budget: int, form: Format) -> PromptContext:
        return prompt_context(self._context, PromptRequest([Turn("user", query)], budget, form=form), moment)

    def _outcomes(
        self, asked: LabelledQuestion, query: str, moment: datetime, given: _Given, within: Mapping[str, list[str]]
    ) -> dict[str, Outcome]:
        """Return the answer by each way, and its score. Ways are read at the same time where a model reads."""

        def answered(way: str) -> Outcome:
            try:
                return self._outcome(asked, self._answer(way, asked, query, moment, given, within[way]))
            except AccountError:
                raise
            except (ProviderError, TransientError) as error:
                return Outcome("failed", str(error), None)

        ways = [way for way in ANSWERED if way != ORACLE or given.ranked[ORACLE]]
        if not self._readers.is_asked:
            return {}
        if self._readers.reader is None:
            return {way: answered(way) for way in ways}
        with ThreadPoolExecutor(len(ways), thread_name_prefix="evaluation") as pool:
            return dict(zip(ways, pool.map(answered, ways), strict=True))

    def _outcome(self, asked: LabelledQuestion, answer: str) -> Outcome:
        judge = self._readers.judge
        if judge is None:
            return compared(asked, answer, self._lexer)
        return judged(asked, answer, judge, self._lexer)

    def _answer(
        self, way: str, asked: LabelledQuestion, query: str, moment: datetime, given: _Given, keys: Sequence[str]
    ) -> str:
        reader, model = self._readers.reader, self._context.language_model
        if reader is not None:
            memory = given.text if way == CONTEXT else self._history.text(keys)
            with given.timed("answer") if way == CONTEXT else nullcontext():
                return reader.read("\n".join((query, *asked.options)), moment, memory)
        if way == CONTEXT:
            with given.timed("answer"):
                reply = ask(self._context, Question(query), asked_at=moment)
            return _CITATION.sub("", reply.answer) if reply.found else ""
        return "\n".join(one.text for one in model.answer(query, moment, self._history.quotables(keys)))


def _recall(found: Sequence[str], wanted: Sequence[frozenset[str]]) -> float:
    """Return the share of the sources of which a message was found."""
    known = set(found)
    return sum(not keys.isdisjoint(known) for keys in wanted) / len(wanted)
