"""Search speed as memories grow, compared with a flat table and with other memory systems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.bench import Bench
from benchmarks.report import Section, number, percentile, table
from benchmarks.retrieval.peer_process import BY_API
from benchmarks.retrieval.peers import PEERS, PeerKind, PeerUnavailableError, hand_over, start
from benchmarks.retrieval.synthetic import DIMENSIONS, Asked, Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation

NODES = {1_000: 10, 10_000: 50, 100_000: 500}
"""Number of nodes by number of memories."""

LARGE_NODES = {1_000_000: 5_000}
LIMIT = 10
ASKED = 100

_METHOD = f"""A graph of one user is made of vectors around topics ({DIMENSIONS} dimensions) and words by Zipf's law.
The same memories with the same vectors are in one table of pgvector with one HNSW index, and in each peer, in separate
databases on the same server; MemPalace keeps them in Chroma's files and searches in its own process. All contestants
look question vectors up, so no time includes embedding. {ASKED} questions are asked, alternating between contestants
in a new random order each time, for {LIMIT} memories of that user (of Neurigraph: {LIMIT} records and {LIMIT}
messages, no cached answers). Neurigraph answers through `search`, which the API and the command line call: its time
includes the times in a question's words, conflicts and expiry. A search is timed in the process that makes it. Every
question is asked twice and the second time counts, because contestants loaded early find their pages displaced the
first time. Neurigraph is listed twice: with the nodes cached in memory, as far as they fit; and, after the
alternation, without any cache, so that every question reads its nodes. A million memories do not fit the machine
several times over: there each contestant is asked alone, and ended before the next one starts. *Found* is the share of
questions whose message is among the {LIMIT}: a fast answer that misses it is worth little. Peers run in their own
environments with an HNSW index, their default. Their first {BY_API:,} memories are added through their own calls
(*add*); the others are copied into their tables and the index is rebuilt, because adding row by row would take hours;
MemPalace and Hindsight get them through their own calls for many. mem0 runs without spaCy's models, and Hindsight
without the models that take facts out of texts and order what it found again, which is less work than with them. All
tables are vacuumed and analysed."""


@dataclass(slots=True)
class Contestant:
    """One contestant and its results.

    Attributes:
        ask: Return the seconds of the search, and whether it found the message in question.
    """

    name: str
    ask: Callable[[Asked], tuple[float, bool]]
    add_ms: float | None = None
    seconds: list[float] = field(default_factory=list)
    found: list[bool] = field(default_factory=list)


def run(bench: Bench) -> Section:
    """Measure each size."""
    rows: list[list[str]] = []
    missing: dict[str, None] = {}
    sizes = {1_000: 10} if bench.quick else NODES | (LARGE_NODES if bench.large else {})
    for memories, nodes in sizes.items():
        bench.say(f"{memories:,} memories")
        rows.extend(_rows(f"{memories:,}", f"{nodes:,}", _measured(bench, memories, nodes, missing)))
    header = ("memories", "our nodes", "", "p50 ms", "p95 ms", "÷ flat table (p50)", "found", "add ms")
    return Section("Search speed", _METHOD, "\n\n".join([table(header, rows), *missing]))


def _measured(bench: Bench, memories: int, nodes: int, missing: dict[str, None]) -> list[Contestant]:
    """Load and question all contestants; the reasons for missing peers go to ``missing``."""
    with bench.installation() as installation:
        graph = make_graph(installation, "speed", memories, nodes)
        questions = graph.questions[: 20 if bench.quick else ASKED]
        folder = bench.folder / f"corpus_{memories}"
        hand_over(folder, graph.texts, graph.vectors, {asked.text: asked.vector for asked in questions})
        kept, read = (partial(_opened, one) for one in _ours(installation, graph))
        flat = partial(_flat_table, bench, graph)
        peers = [partial(_peer, bench, kind, folder) for kind in _peers_for(memories, missing)]
        # `read` never alternates: its reads would displace the others' data from the processor's caches.
        in_turns = [[flat, kept, *peers], [read]]
        alone = [[one] for one in (flat, kept, read, *peers)]
        groups = alone if memories in LARGE_NODES else in_turns
        return [one for group in groups for one in _asked(bench, group, questions, missing)]


def _asked(
    bench: Bench,
    group: Sequence[Callable[[ExitStack], Contestant]],
    questions: Sequence[Asked],
    missing: dict[str, None],
) -> list[Contestant]:
    """Open some contestants, ask them in turns, and close them."""
    contestants = []
    with ExitStack() as opened:
        for open_contestant in group:
            try:
                contestants.append(open_contestant(opened))
            except PeerUnavailableError as reason:
                bench.say(str(reason))
                missing[f"Left out: {reason}."] = None
        _ask_in_turns(contestants, questions)
    for one in contestants:
        bench.say(f"{one.name}: p50 {number(percentile(one.seconds, 50) * 1_000)} ms")
    return contestants


def _peers_for(memories: int, missing: dict[str, None]) -> Iterator[PeerKind]:
    for kind in PEERS:
        if kind.most is None or memories <= kind.most:
            yield kind
        else:
            missing[
                f"Left out above {kind.most:,} memories: {kind.title}, which would take an hour or more to load."
            ] = None


def _ask_in_turns(contestants: Sequence[Contestant], questions: Sequence[Asked]) -> None:
    """Ask each question of all contestants in a new random order, twice; only the second time counts."""
    random = Random(len(questions))
    for counts in (False, True):
        for asked in questions:
            # The order matters, because each contestant finds the processor's caches as the previous one left them.
            for contestant in random.sample(contestants, len(contestants)):
                seconds, found = contestant.ask(asked)
                if counts:
                    contestant.seconds.append(seconds)
                    contestant.found.append(found)


def _ours(installation: Installation, graph: Graph) -> tuple[Contestant, Contestant]:
    keeping = installation.settings.changed(answer_cache_entries=0)
    reading = keeping.changed(layer_cache_mb=0)
    embedder = SyntheticEmbedder(graph.questions)
    pack_layers(installation.context, 10**6)
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")

    def ask(settings: Settings, asked: Asked) -> tuple[float, bool]:
        question = Question(asked.text, limit=LIMIT, message_limit=LIMIT)
        started = time.perf_counter()
        answer = search(installation.acting_for(graph.claims).using(embedder=embedder, settings=settings), question)
        seconds = time.perf_counter() - started
        installation.database.wait_for_background()  # what it leaves to the background is in nobody else's way
        wanted = (asked.record_id, asked.seq)
        return seconds, any((message.record_id, message.seq) == wanted for message in answer.messages)

    return (
        Contestant("**Neurigraph**", partial(ask, keeping)),
        Contestant("Neurigraph, nothing in memory", partial(ask, reading)),
    )


def _opened(contestant: Contestant, _: ExitStack) -> Contestant:
    """Return a contestant that needs no opening."""
    return contestant


def _flat_table(bench: Bench, graph: Graph, opened: ExitStack) -> Contestant:
    database_url = bench.database(f"flat_{graph.memories}")
    connection = opened.enter_context(psycopg.connect(database_url, autocommit=True))
    connection.execute("CREATE EXTENSION vector")
    register_vector(connection)
    connection.execute(
        f"CREATE TABLE memories (id int PRIMARY KEY, user_id uuid, text text, embedding vector({DIMENSIONS}))"
    )
    with connection.cursor().copy("COPY memories FROM STDIN") as copy:
        for row, (text, vector) in enumerate(zip(graph.texts, graph.vectors, strict=True)):
            copy.write_row((row, graph.claims.user_id, text, Vector(vector)))
    connection.execute("SET maintenance_work_mem = '4GB'")
    connection.execute("CREATE INDEX ON memories USING hnsw (embedding vector_cosine_ops)")
    connection.execute("VACUUM ANALYZE memories")

    def ask(asked: Asked) -> tuple[float, bool]:
        started = time.perf_counter()
        rows = connection.execute(
            "SELECT id, text FROM memories WHERE user_id = %s ORDER BY embedding <=> %s LIMIT %s",
            [graph.claims.user_id, Vector(asked.vector), LIMIT],
        ).fetchall()
        return time.perf_counter() - started, asked.number in {row[0] for row in rows}

    return Contestant("one flat table, HNSW", ask)


def _peer(bench: Bench, kind: PeerKind, folder: Path, opened: ExitStack) -> Contestant:
    bench.say(f"{kind.title} loads")
    peer = opened.enter_context(start(bench, kind, folder))

    def ask(asked: Asked) -> tuple[float, bool]:
        found = peer.search(asked.text, LIMIT)
        return found.seconds, asked.number in found.numbers

    return Contestant(peer.kind.title, ask, peer.add_seconds / peer.by_api * 1_000)


def _rows(memories: str, nodes: str, contestants: Sequence[Contestant]) -> list[list[str]]:
    flat = percentile(contestants[0].seconds, 50)
    return [
        [
            memories,
            nodes,
            contestant.name,
            *(number(percentile(contestant.seconds, p) * 1_000) for p in (50, 95)),
            number(percentile(contestant.seconds, 50) / flat),
            f"{sum(contestant.found) / len(contestant.found):.2f}",
            number(contestant.add_ms) if contestant.add_ms is not None else "",
        ]
        for contestant in contestants
    ]
