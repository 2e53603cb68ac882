"""Questions of many users through several processes: most of the layers that a question needs are not in memory.

Run as a program, ``python -m benchmarks.retrieval.first_questions`` answers questions line by line.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.report import Section, number, percentile, table
from benchmarks.retrieval.peers import PEERS, PeerUnavailableError, hand_over, start
from benchmarks.retrieval.synthetic import Asked, Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation

USERS, LARGE_USERS, QUICK_USERS = 60, 2_000, 4
MESSAGES = (200, 5_000)
MESSAGES_OF_NODE = 130
PROCESSES = 4
USERS_OF_TASK = 10
QUESTIONS, QUICK_QUESTIONS = 600, 40
CACHE_MB = 700
"""Room for layers of a process whose memory is limited to 1 GB; without models it takes some 150 MB besides."""

QUESTIONS_OF_USER = 40
LIMIT = 10

_METHOD = f"""{{users:,}} users have graphs of {MESSAGES[0]:,} to {MESSAGES[1]:,} messages, evenly by their logarithm,
in nodes of {MESSAGES_OF_NODE} messages on average (384 dimensions). {{questions:,}} questions are asked one after the
other, each of a random user and by a random one of {PROCESSES} processes with {CACHE_MB} MB for layers each. A *first*
question is that of a user who was not asked in this process yet. The search call is timed in the process that makes it,
without the embedding of the question. After that, every question is asked again in one more process that keeps nothing:
by the nodes' segments, and by packed layers, in turns. LangGraph's store, with the messages of one of these users, is
asked between the questions. *In memory* is what the caches of layers say that they hold for each passage."""


def run(bench: Bench) -> Section:
    """Create users, ask them at random, and compare first questions by tables and by packed layers."""
    users = QUICK_USERS if bench.quick else LARGE_USERS if bench.large else USERS
    count = QUICK_QUESTIONS if bench.quick else QUESTIONS
    chance = random.Random(users)
    with bench.installation() as installation, ExitStack() as opened:
        environment = bench.environment(installation)
        graphs = _graphs(bench, environment, users, chance)
        started = time.perf_counter()
        packed = pack_layers(installation.context, 10**9)
        packing = time.perf_counter() - started
        connection = opened.enter_context(psycopg.connect(installation.administrator_url, autocommit=True))
        connection.execute("VACUUM ANALYZE")
        processes = [opened.enter_context(_process(environment, CACHE_MB)) for _ in range(PROCESSES)]
        peer = _peer(bench, opened, graphs[len(graphs) // 2])
        results = _ask_at_random(processes, graphs, count, chance, peer)
        forgetful = opened.enter_context(_process(environment, 0))
        taken = _without_memory(connection, forgetful, graphs, min(count, 200), chance)
        memory = [_ask(process, {"memory": True}) for process in processes]
    header = ("", "questions", "p50 ms", "p95 ms")
    rows = [_row(name, seconds) for name, seconds in {**results, **taken}.items() if seconds]
    resident = ", ".join(f"{one['resident_mb']:.0f}" for one in memory)
    passage = sum(one["bytes"] for one in memory) / max(sum(one["passages"] for one in memory), 1)
    messages = sum(graph.memories for graph in graphs)
    said = (
        f"{packed:,} nodes with {messages:,} messages were packed in {packing:.0f} s, "
        f"{1e6 * packing / messages:.0f} µs a message. In memory: {passage:.0f} bytes a passage; "
        f"resident memory of the processes {resident} MB."
    )
    method = _METHOD.format(users=users, questions=count)
    return Section("First questions of many users", method, f"{table(header, rows)}\n\n{said}")


def _graphs(bench: Bench, environment: dict[str, str], users: int, chance: random.Random) -> list[Graph]:
    """Create users in one process a processor. Only the graph in the middle keeps its messages, for the peer."""
    low, high = np.log(MESSAGES)
    sizes = [int(np.exp(chance.uniform(low, high))) for _ in range(users)]
    tasks = [(number, size, number == users // 2) for number, size in enumerate(sizes)]
    graphs: list[Graph] = []
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), _enter, (environment,)) as pool:
        for made in pool.map(_some_graphs, (tasks[at : at + USERS_OF_TASK] for at in range(0, users, USERS_OF_TASK))):
            graphs.extend(made)
            bench.say(f"{len(graphs):,} of {users:,} users")
    return graphs


def _enter(environment: dict[str, str]) -> None:
    os.environ.update(environment)


def _some_graphs(tasks: Sequence[tuple[int, int, bool]]) -> list[Graph]:
    with Installation(Settings()) as installation:
        return [_graph(installation, *task) for task in tasks]


def _graph(installation: Installation, number: int, messages: int, keeps_messages: bool) -> Graph:
    nodes = max(3, messages // MESSAGES_OF_NODE)
    graph = make_graph(installation, f"user{number}", messages, nodes, questions=QUESTIONS_OF_USER)
    return graph if keeps_messages else replace(graph, texts=[], vectors=graph.vectors[:0].copy())


def _row(name: str, seconds: Sequence[float]) -> list[str]:
    return [name, f"{len(seconds):,}", *(number(percentile(seconds, share) * 1_000) for share in (50, 95))]


def _peer(bench: Bench, opened: ExitStack, graph: Graph) -> Callable[[], float] | None:
    """Start LangGraph's store with the messages of one graph; None if it cannot be installed."""
    folder = bench.folder / "first_questions"
    hand_over(folder, graph.texts, graph.vectors, {asked.text: asked.vector for asked in graph.questions})
    (kind,) = (one for one in PEERS if "LangGraph" in one.name)
    try:
        running = opened.enter_context(start(bench, kind, folder))
    except PeerUnavailableError as reason:
        bench.say(str(reason))
        return None
    return lambda: running.search(graph.questions[0].text, LIMIT).seconds


def _ask_at_random(
    processes: Sequence[subprocess.Popen[str]],
    graphs: Sequence[Graph],
    count: int,
    chance: random.Random,
    peer: Callable[[], float] | None,
) -> dict[str, list[float]]:
    first: list[float] = []
    later: list[float] = []
    of_peer: list[float] = []
    known: set[tuple[int, UUID]] = set()
    for place, process in enumerate(processes):  # opens connections
        _ask(process, _question(graphs[0], graphs[0].questions[0]))
        known.add((place, graphs[0].claims.user_id))
    for _ in range(count):
        place, graph = chance.randrange(len(processes)), chance.choice(graphs)
        taken = _ask(processes[place], _question(graph, chance.choice(graph.questions)))["seconds"]
        is_known = (place, graph.claims.user_id) in known
        (later if is_known else first).append(taken)
        known.add((place, graph.claims.user_id))
        if peer is not None:
            of_peer.append(peer())
    return {
        "all questions": first + later,
        "first questions": first,
        "later questions": later,
        "LangGraph PostgresStore": of_peer,
    }


def _without_memory(
    connection: psycopg.Connection[Any],
    process: subprocess.Popen[str],
    graphs: Sequence[Graph],
    count: int,
    chance: random.Random,
) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {"nothing in memory, from segments": [], "nothing in memory, packed": []}
    for _ in range(count):
        graph = chance.choice(graphs)
        asked = chance.choice(graph.questions)
        for seconds in taken.values():
            # A packed layer of another form is not read: so both read the same node as it is now.
            connection.execute(
                "UPDATE neurigraph.layer_packs SET format = -format WHERE user_id = %s", [graph.claims.user_id]
            )
            seconds.append(_ask(process, _question(graph, asked))["seconds"])
    return taken


def _question(graph: Graph, asked: Asked) -> dict[str, Any]:
    return {"user": str(graph.claims.user_id), "text": asked.text, "vector": asked.vector.tolist()}


@contextmanager
def _process(environment: dict[str, str], cache_mb: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.retrieval.first_questions", str(cache_mb)]
    with subprocess.Popen(
        command, cwd=PROJECT_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _ask(process: subprocess.Popen[str], question: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(question), file=process.stdin, flush=True)
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def answer_until_closed() -> None:
    """Answer one question a line: those of ``_question``, and how much memory is in use."""
    settings = Settings().changed(
        layer_cache_mb=int(sys.argv[1]), answer_cache_entries=0, warming_nodes=0, database_pool_size=2
    )
    with Installation(settings) as installation:
        for line in sys.stdin:
            asked = json.loads(line)
            answer = _memory(installation) if "memory" in asked else _timed(installation, asked)
            print(json.dumps(answer), flush=True)


def _timed(installation: Installation, asked: dict[str, Any]) -> dict[str, float]:
    vector = np.array(asked["vector"], np.float32)
    embedder = SyntheticEmbedder([Asked(asked["text"], vector, UUID(int=0), 0, 0)])
    context = installation.acting_for(Claims.of_user(UUID(asked["user"]))).using(embedder=embedder)
    question = Question(asked["text"], limit=LIMIT, message_limit=LIMIT)
    started = time.perf_counter()
    search(context, question)
    seconds = time.perf_counter() - started
    installation.database.wait_for_background()
    return {"seconds": seconds}


def _memory(installation: Installation) -> dict[str, float]:
    caches = caches_of(installation.database)
    layers = caches.nodes.values(NodeLayers)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return {
        "bytes": sum(one.size for one in layers),
        "passages": sum(layer.passages for one in layers for layer in one.layers),
        "resident_mb": int(status["VmHWM"].split()[0]) / 1_024,
    }


if __name__ == "__main__":
    answer_until_closed()
