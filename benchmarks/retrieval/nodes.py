"""Search speed in one node: as it grows, in memory and read, and cold and warmed nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.report import Section, percentile, spread, table
from benchmarks.retrieval.synthetic import MODEL, Asked, Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.query.signals import EXACT_PASSAGES
from neurigraph_pipelines.retrieval.query.warming import prefetch
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation

SIZES = (1_000, 5_000, 10_000, 20_000, 50_000)
ASKED = 200
READ_AGAIN = 20
"""Number of questions asked without a cache, and number asked after a write."""

LIMIT = 10
COLD_NODES = 40

Message = tuple[str, int]
"""A message by its record and its number in it."""

_METHOD = f"""One node has many passages (384 dimensions, twenty messages a record). {ASKED} questions go through
search with everything cached; {READ_AGAIN} of them each after a record got another title; and as many without any
cache, from the segments and from the packed layer. Recall is the share of the first {LIMIT} messages of a search that
compares all vectors. From {EXACT_PASSAGES:,} passages on, only the vectors that an estimate puts first are compared;
the vectors here are noise around one topic, which is the hardest case for that. Below: a question about one of
{COLD_NODES} nodes, each asked once over a new connection without any cache, and once over a new connection
after the staged nodes were loaded (warming); answers are not cached."""


def run(bench: Bench) -> Section:
    """Measure one growing node, then many cold and warmed ones."""
    sizes = SIZES[:1] if bench.quick else SIZES
    rows = []
    for size in sizes:
        with bench.installation() as installation:
            bench.say(f"a node of {size:,} passages")
            rows.append(_one_node(installation, size))
    with bench.installation() as installation:
        bench.say("cold and warmed nodes")
        warmth = _cold_and_warm(installation, 5 if bench.quick else COLD_NODES)
    header = ["passages", "in memory ms", f"recall@{LIMIT}", "after a write ms", "nothing in memory ms", "packed ms"]
    header.append("packing s")
    return Section("One node: in memory or read, cold or warmed", _METHOD, f"{table(header, rows)}\n\n{warmth}")


def _one_node(installation: Installation, size: int) -> list[str]:
    graph = make_graph(installation, "one", size, 1, questions=ASKED)
    settings = installation.settings.changed(answer_cache_entries=0, max_searched_passages=10 * size)
    kept, kept_ms = _ask_all(installation, settings, graph)
    exact = _compare_all(installation, graph)
    changed_ms = _ask_all(installation, settings, graph, READ_AGAIN, partial(_write, installation, graph))[1]
    read_ms = _ask_all(installation, settings.changed(layer_cache_mb=0), graph, READ_AGAIN)[1]
    started = time.perf_counter()
    pack_layers(installation.context, 10)
    packing = time.perf_counter() - started
    packed_ms = _ask_all(installation, settings.changed(layer_cache_mb=0), graph, READ_AGAIN)[1]
    taken = [*map(spread, (kept_ms, changed_ms, read_ms, packed_ms))]
    return [f"{size:,}", taken[0], f"{_recall(exact, kept):.3f}", *taken[1:], f"{packing:.1f}"]


def _recall(exact: Sequence[set[Message]], found: Sequence[set[Message]]) -> float:
    return sum(len(a & b) / len(a) for a, b in zip(exact, found, strict=True)) / len(exact)


def _compare_all(installation: Installation, graph: Graph) -> list[set[Message]]:
    """What the search finds where no likeness is estimated: with the signs of a layer taken away."""
    kept = caches_of(installation.database)
    with installation.database.owner() as tx:
        (node,) = tx.execute(
            "SELECT g.node_id::text, v.version FROM neurigraph.graph_index AS g "
            "CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v "
            "WHERE g.user_id = %s AND g.record_count > 0",
            [graph.claims.user_id],
        ).fetchall()
    layers = kept.nodes.get(NodeLayers, node["node_id"], (node["version"], MODEL))
    assert layers is not None
    layer = layers.base
    signs, layer.sign_hashes = layer.sign_hashes, None
    settings = installation.settings.changed(answer_cache_entries=0)
    try:
        return _ask_all(installation, settings, graph)[0]
    finally:
        layer.sign_hashes = signs


def _write(installation: Installation, graph: Graph, question: Asked) -> None:
    with installation.database.owner() as tx:
        (node,) = tx.execute(
            "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND record_count > 0",
            [graph.claims.user_id],
        ).fetchall()
        authored(tx, "benchmark")
        tx.execute(
            sql.SQL("UPDATE {}.metadata_records SET title = left(title || '.', 200) WHERE record_id = %s").format(
                sql.Identifier(node["schema_name"])
            ),
            [question.record_id],
        )


def _ask_all(
    installation: Installation,
    settings: Settings,
    graph: Graph,
    number: int = ASKED,
    before: Callable[[Asked], object] = bool,
) -> tuple[list[set[Message]], list[float]]:
    found, milliseconds = [], []
    for question in (graph.questions[0], *graph.questions[:number]):  # the first opens connections
        before(question)
        started = time.perf_counter()
        answer = _ask(installation, settings, graph, question)
        milliseconds.append((time.perf_counter() - started) * 1_000)
        found.append({(str(message.record_id), message.seq) for message in answer.messages})
    return found[1:], milliseconds[1:]


def _ask(installation: Installation, settings: Settings, graph: Graph, question: Asked) -> Found:
    asked = Question(question.text, limit=LIMIT, message_limit=LIMIT)
    return search(
        installation.acting_for(graph.claims).using(embedder=SyntheticEmbedder(graph.questions), settings=settings),
        asked,
    )


def _cold_and_warm(installation: Installation, nodes: int) -> str:
    graph = make_graph(installation, "many", 100 * nodes, nodes, questions=2 * nodes)
    settings = installation.settings.changed(answer_cache_entries=0, warming_nodes=nodes, database_pool_size=1)
    cold_settings = settings.changed(layer_cache_mb=0)
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
                prefetch(installation.acting_for(graph.claims).using(settings=settings))
            started = time.perf_counter()
            _ask(installation, settings if first else cold_settings, graph, question)
            taken.append((time.perf_counter() - started) * 1_000)
    return table(["a new connection", "p50 ms", "p95 ms"], [_latency("cold", cold), _latency("warmed before", warm)])


def _latency(name: str, taken: Sequence[float]) -> list[str]:
    return [name, *(f"{percentile(taken, percent):.1f}" for percent in (50, 95))]
