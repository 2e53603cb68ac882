"""Words a second of the whole job on real conversations, beside a model that reads each message once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.pipeline import TimedEmbedder
from benchmarks.quality.questions import beam, locomo, qmsum, together
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims, IncomingMessage
from neurigraph_pipelines.runtime.evaluation.samples import Sample
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel

QUICK_MESSAGES = 12

_METHOD = """Conversations of LoCoMo, chats of BEAM and meetings of QMSum go from the inbox through `run_batch`
with the offline model and MiniLM on all cores. In the baseline of the same run, MiniLM reads each message once
(`Speaker: text`, all in one call) and nothing else is done. Processor time is that of this process with all its
threads, so other work on the machine changes it less than seconds; Postgres' is not in it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What storing some conversations took; processor time in seconds, of the whole and of the embedder's calls."""

    messages: int
    words: int
    texts: int
    wall: float
    processor: float
    embedding: float
    once: float


def run(bench: Bench) -> Section:
    """Store each data set."""
    with bench.installation() as installation:
        installation.embedder.embed(["the model is loaded"])
        rows = []
        for name, samples in _sets(bench.quick):
            bench.say(f"{name}: storing {sum(len(sample.messages) for sample in samples):,} messages")
            rows.append(_row(name, _store(installation, samples)))
    header = (
        *("conversations", "messages", "words", "words/s", "words in a second of processor time"),
        *("texts a message", "share in the embedder", "÷ each message read once"),
    )
    return Section("Storing real conversations", _METHOD, table(header, rows))


def _sets(quick: bool) -> Iterator[tuple[str, Sequence[Sample]]]:
    for name, samples in {"LoCoMo": locomo(), "BEAM": beam(), "QMSum": [together("meetings", qmsum())]}.items():
        yield name, [samples[0].beginning(QUICK_MESSAGES)] if quick else samples


def _store(installation: Installation, samples: Sequence[Sample]) -> Stored:
    embedder = TimedEmbedder(installation.embedder)
    model = OfflineLanguageModel(embedder, installation.settings.language)
    context = installation.context.using(language_model=model, embedder=embedder)
    messages: list[IncomingMessage] = []
    for sample in samples:
        user, _ = create_user(installation.database, sample.name)
        with installation.database.agent(Claims.of_user(user.user_id)) as tx:
            for conversation in sample.conversations:
                Inbox(context).add_conversations(tx, user.user_id, [conversation])
                messages += conversation.messages
    wall, processor = time.perf_counter(), time.process_time()
    for result in run_due(context, "benchmark"):
        assert not result.returned, result.returned
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    once = time.process_time()
    installation.embedder.embed([f"{message.author}: {message.content}" for message in messages])
    return Stored(
        len(messages),
        sum(len(message.content.split()) for message in messages),
        embedder.texts,
        wall,
        processor,
        embedder.processor,
        time.process_time() - once,
    )


def _row(name: str, stored: Stored) -> list[str]:
    return [
        name,
        f"{stored.messages:,}",
        f"{stored.words:,}",
        number(stored.words / stored.wall),
        number(stored.words / stored.processor),
        number(stored.texts / stored.messages),
        f"{stored.embedding / stored.processor:.0%}",
        number(stored.processor / stored.once),
    ]
