"""Throughput of the whole job in this process, and the time of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, ParamSpec, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.chat import conversations
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.model import Claims, ImportedConversation
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.measuring import listen
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel

BATCHES = {1: 10, 10: 4, 100: 2}
"""Number of measured batches by batch size."""
QUICK_BATCHES = {1: 2, 3: 1}
STEP_BATCHES, STEP_BATCH_SIZE = 3, 10

Given = ParamSpec("Given")
Result = TypeVar("Result")

_METHOD = """Synthetic conversations of 20 to 30 messages go from the inbox through `run_batch` (assign, summarise and
extract keywords, embed, commit) with the offline model and MiniLM on all cores. A baseline precedes every batch: the
text of the same messages is inserted into one plain table, one transaction a conversation, and nothing else is done.
The steps are timed one after the other, as Dagster's in-process executor runs them. Filing and commit without the
models are `assign_nodes` without the calls that place a segment, and `commit`."""


class TimedEmbedder:
    """An embedder that counts its seconds, by the clock and of the processor, and its texts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = embedder.model
        self.dimensions = embedder.dimensions
        self.prefix_trained = embedder.prefix_trained
        self.is_remote = embedder.is_remote
        self.max_tokens = embedder.max_tokens
        self.seconds = 0.0
        self.processor = 0.0
        self.texts = 0

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Embed texts and record the time."""
        started, processor = time.perf_counter(), time.process_time()
        vectors = self._embedder.embed(texts, kind)
        self.seconds += time.perf_counter() - started
        self.processor += time.process_time() - processor
        self.texts += len(texts)
        return vectors


class _Placing:
    """A listener that adds up the seconds in which the language model places segments."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def begin(self, name: str, parent: str | None) -> None:
        """Nothing begins."""

    def end(self, name: str, begun: object, seconds: float, attributes: object, error: object) -> None:
        """Add what the model took, with the embedder within it."""
        self.seconds += seconds if name == "model.place" else 0.0

    def done(self, name: str, seconds: float, attributes: object) -> None:
        """Other blocks do not count."""

    def report(self, event: str, values: object) -> None:
        """Numbers do not count."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """One batch, in seconds."""

    conversations: int
    messages: int
    records: int
    job: float
    inbox: float
    plain: float


class _Pipeline:
    """An installation with a timed embedder, and a supply of new conversations."""

    def __init__(self, installation: Installation) -> None:
        self.embedder = TimedEmbedder(installation.embedder)
        self.context = installation.context.using(
            language_model=OfflineLanguageModel(self.embedder, installation.settings.language), embedder=self.embedder
        )
        self._settings = installation.settings
        self._inbox = Inbox(installation.context)
        self._next = 0

    def new_conversations(self, count: int) -> list[ImportedConversation]:
        """Return conversations that no earlier batch used."""
        self._next += count
        return list(conversations(self._next - count, count))

    def take_in(self, user: User, chats: Sequence[ImportedConversation]) -> None:
        """Put conversations into the inbox, one transaction each."""
        for chat in chats:
            with self.context.database.agent(Claims.of_user(user.user_id)) as tx:
                self._inbox.add_conversations(tx, user.user_id, [chat])

    def claim(self, user: User, size: int) -> tuple[triggers.Batch, Context]:
        """Claim what was taken in as one batch."""
        settings = self._settings.changed(batch_max_segments=size)
        context = self.context.using(settings=settings)
        detect_conversation_ends(context)
        claimed = triggers.lease_due(context, "benchmark", user.user_id)
        assert claimed is not None
        assert claimed.segments == size
        return claimed, context


def run(bench: Bench) -> Section:
    """Measure each batch size, then the steps of one size."""
    with bench.installation() as installation, psycopg.connect(installation.administrator_url) as plain:
        plain.execute("CREATE TABLE public.benchmark_messages (id bigint GENERATED ALWAYS AS IDENTITY, content text)")
        plain.commit()
        pipeline = _Pipeline(installation)
        _measure(pipeline, create_user(installation.database, "warm-up")[0], plain, 1)
        rows = []
        for size, batches in (QUICK_BATCHES if bench.quick else BATCHES).items():
            user, _ = create_user(installation.database, f"batches-of-{size}")
            measured = []
            for done in range(batches):
                bench.say(f"batch {done + 1} of {batches} with {size} conversations")
                measured.append(_measure(pipeline, user, plain, size))
            rows.append(_throughput_row(size, measured))
        bench.say("step by step")
        steps = _steps(
            pipeline,
            create_user(installation.database, "steps")[0],
            plain,
            1 if bench.quick else STEP_BATCHES,
            2 if bench.quick else STEP_BATCH_SIZE,
        )
    header = (
        *("conversations in a batch", "batches", "conversations/s", "records/s", "messages/s"),
        *("into the inbox, messages/s", "plain table, messages/s", "plain table ÷ job"),
    )
    return Section("The ingestion job", _METHOD, f"{table(header, rows)}\n\n{steps}")


def _measure(pipeline: _Pipeline, user: User, plain: psycopg.Connection, size: int) -> _Measured:
    chats = pipeline.new_conversations(size)
    plain_seconds, _ = _timed(_insert_plainly, plain, chats)
    inbox_seconds, _ = _timed(pipeline.take_in, user, chats)
    claimed, context = pipeline.claim(user, size)
    seconds, result = _timed(batch.run_batch, context, claimed.batch_id)
    assert not result.returned, result.returned
    messages = sum(len(chat.messages) for chat in chats)
    return _Measured(size, messages, len(result.stored), seconds, inbox_seconds, plain_seconds)


def _insert_plainly(connection: psycopg.Connection, chats: Sequence[ImportedConversation]) -> None:
    for chat in chats:
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO public.benchmark_messages (content) VALUES (%s)",
                [(message.content,) for message in chat.messages],
            )
        connection.commit()


def _throughput_row(size: int, measured: Sequence[_Measured]) -> list[str]:
    return [
        str(size),
        str(len(measured)),
        spread([m.conversations / m.job for m in measured]),
        spread([m.records / m.job for m in measured]),
        spread([m.messages / m.job for m in measured]),
        spread([m.messages / m.inbox for m in measured]),
        spread([m.messages / m.plain for m in measured]),
        spread([m.job / m.plain for m in measured]),
    ]


def _steps(pipeline: _Pipeline, user: User, plain: psycopg.Connection, batches: int, size: int) -> str:
    """Time the five steps one by one; the share of embedding counts the embedder's calls of every step."""
    seconds: dict[str, list[float]] = {}
    embedding: dict[str, float] = {}
    texts = pipeline.embedder.texts
    messages, records, plainly = 0, 0, 0.0
    placing = _Placing()
    stop = listen(placing)

    def step(name: str, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
        before = pipeline.embedder.seconds
        taken, result = _timed(work, *given, **named)
        seconds.setdefault(name, []).append(taken)
        embedding[name] = embedding.get(name, 0.0) + pipeline.embedder.seconds - before
        return result

    for _ in range(batches):
        chats = pipeline.new_conversations(size)
        messages += sum(len(chat.messages) for chat in chats)
        plainly += _timed(_insert_plainly, plain, chats)[0]
        pipeline.take_in(user, chats)
        claimed, context = pipeline.claim(user, size)
        batch_id = claimed.batch_id
        assigned = step("assign_nodes", batch.assign_nodes, context, batch_id)
        summarized = step("summarize", batch.summarize, context, assigned)
        described = step("extract_keywords", batch.extract_keywords, context, assigned, summarized)
        embedded = step("embed", batch.embed, context, assigned, summarized)
        result = step("commit", batch.commit, context, assigned, summarized, described, embedded)
        records += len(result.stored)
    stop()
    own = sum(seconds["assign_nodes"]) - placing.seconds + sum(seconds["commit"])
    total = sum(map(sum, seconds.values()))
    rows = [
        [f"`{name}`", spread(taken), f"{sum(taken) / total:.0%}", f"{embedding[name] / total:.0%}"]
        for name, taken in seconds.items()
    ]
    rows.append(["all five", number(total / batches), "100%", f"{sum(embedding.values()) / total:.0%}"])
    texts = pipeline.embedder.texts - texts
    return (
        table(["step", f"seconds for {size} conversations", "share", "share in the embedder"], rows)
        + f"\n\n{batches} batches of {size}; {texts / messages:.1f} texts are embedded for each message: the message "
        "behind those before it, texts for changes of subject and filing, and summaries.\n\n"
        + table(
            ["without the models", "records/s", "ms a record", "÷ plain table"],
            [["filing and commit", number(records / own), number(1_000 * own / records), number(own / plainly)]],
        )
    )


def _timed(work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> tuple[float, Result]:
    started = time.perf_counter()
    result = work(*given, **named)
    return time.perf_counter() - started, result
