"""What one node costs: exact search beside its vector indexes as it grows, and a cold node beside a warmed one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.report import Section, percentile, spread, table
from benchmarks.retrieval.synthetic import Asked, Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.lifecycle.vector_indexes import build_vector_indexes
from neurigraph_pipelines.retrieval.search import Answer, Question, search
from neurigraph_pipelines.retrieval.warming import bring_in
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring import Installation

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
ASKED = 60
LIMIT = 10
COLD_NODES = 40

_METHOD = f"""One node of so many passages (384 dimensions in columns of 512, twenty messages a record), {ASKED}
questions through `retrieval.search`, first exactly, then after `vector_indexes` has built HNSW over both of its
vectors; recall is the share of the exact search's first {LIMIT} messages that the indexed one has among its own. Below:
a question about one of {COLD_NODES} nodes, each asked once over a new connection with nothing in memory, and once over
a new connection after the staged nodes were brought into memory (`retrieval.warming`); answers are not kept."""


def run(bench: Bench) -> Section:
    """Grow one node, then warm many."""
    sizes = SIZES[:1] if bench.quick else SIZES
    rows = []
    for size in sizes:
        with bench.installation() as installation:
            bench.say(f"a node of {size:,} passages")
            rows.append(_exact_and_indexed(installation, size))
    with bench.installation() as installation:
        bench.say("cold and warmed nodes")
        warmth = _cold_and_warm(installation, 5 if bench.quick else COLD_NODES)
    header = ["passages", "exact ms", "indexed ms", f"recall@{LIMIT}", "building s"]
    return Section("One node: exact or indexed, cold or warmed", _METHOD, f"{table(header, rows)}\n\n{warmth}")


def _exact_and_indexed(installation: Installation, size: int) -> list[str]:
    graph = make_graph(installation, "one", size, 1, questions=ASKED)
    settings = installation.settings.model_copy(
        update={"answer_cache_entries": 0, "max_searched_passages": 10 * size, "vector_index_passages": 100}
    )
    exact, exact_ms = _ask_all(installation, settings, graph)
    started = time.perf_counter()
    build_vector_indexes(installation.database, settings)
    building = time.perf_counter() - started
    indexed, indexed_ms = _ask_all(installation, settings, graph)
    recall = sum(len(a & b) / len(a) for a, b in zip(exact, indexed, strict=True)) / len(exact)
    return [f"{size:,}", spread(exact_ms), spread(indexed_ms), f"{recall:.3f}", f"{building:.1f}"]


def _ask_all(
    installation: Installation, settings: Settings, graph: Graph
) -> tuple[list[set[tuple[str, int]]], list[float]]:
    found, milliseconds = [], []
    for question in (graph.questions[0], *graph.questions[:ASKED]):  # the first opens connections
        started = time.perf_counter()
        answer = _ask(installation, settings, graph, question)
        milliseconds.append((time.perf_counter() - started) * 1_000)
        found.append({(message["record_id"], message["seq"]) for message in answer.messages})
    return found[1:], milliseconds[1:]


def _ask(installation: Installation, settings: Settings, graph: Graph, question: Asked) -> Answer:
    asked = Question(question.text, limit=LIMIT, message_limit=LIMIT)
    return search(installation.database, SyntheticEmbedder(graph.questions), settings, graph.claims, asked)


def _cold_and_warm(installation: Installation, nodes: int) -> str:
    graph = make_graph(installation, "many", 100 * nodes, nodes, questions=2 * nodes)
    settings = installation.settings.model_copy(
        update={"answer_cache_entries": 0, "warming_nodes": nodes, "database_pool_size": 1}
    )
    cold_settings = settings.model_copy(update={"layer_cache_mb": 0})
    with installation.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.warm_nodes (user_id, node_id, expires_at) SELECT user_id, node_id, 'infinity' "
            "FROM neurigraph.graph_index WHERE user_id = %s",
            [graph.claims.user_id],
        )
    cold: list[float] = []
    warm: list[float] = []
    for question in graph.questions[:nodes]:
        for taken, first in ((cold, False), (warm, True)):
            installation.database.close()
            with installation.database.agent(graph.claims) as tx:  # connecting, and learning the shared tables
                tx.execute("SELECT count(*) FROM neurigraph.graph_index")
            if first:
                bring_in(installation.database, settings, graph.claims)
            started = time.perf_counter()
            _ask(installation, settings if first else cold_settings, graph, question)
            taken.append((time.perf_counter() - started) * 1_000)
    return table(["a new connection", "p50 ms", "p95 ms"], [_latency("cold", cold), _latency("warmed before", warm)])


def _latency(name: str, taken: Sequence[float]) -> list[str]:
    return [name, *(f"{percentile(taken, percent):.1f}" for percent in (50, 95))]
