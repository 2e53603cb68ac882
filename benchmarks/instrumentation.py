"""What metrics and traces add to a warm search: the same question with and without listeners, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import SyntheticEmbedder, make_graph
from neurigraph_pipelines.faces.api.metrics.process import ProcessMeasures
from neurigraph_pipelines.model.measuring import Listener, listen
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from resources.tracing import Tracer
from tests.support.trace_collector import TraceCollector

SIZES = ((1_000, 20), (10_000, 100))
QUICK_SIZES = ((200, 5),)
REPEATS, QUICK_REPEATS = 1_001, 5

_METHOD = f"""Warm searches of synthetic graphs (384 dimensions, all layers cached, no cached answers, the embedding of
the question looked up), {REPEATS - 1:,} of each kind in turns: without a listener, as in a command; with the metrics of
the API; and with traces to a collector on loopback besides."""


def run(bench: Bench) -> Section:
    """Measure a small and a medium graph."""
    rows = []
    with TraceCollector() as collector:
        metrics, tracer = ProcessMeasures(), Tracer(collector.url, None, "benchmark", "1")
        kinds: dict[str, tuple[Listener, ...]] = {
            "nothing": (), "metrics": (metrics,), "metrics and traces": (metrics, tracer)
        }  # fmt: skip
        for memories, nodes in QUICK_SIZES if bench.quick else SIZES:
            bench.say(f"{memories:,} messages in {nodes:,} nodes")
            taken = _measure(bench, memories, nodes, list(kinds.values()))
            bare = statistics.median(taken[0])
            rows += [
                [
                    f"{memories:,}",
                    kind,
                    spread([1_000 * seconds for seconds in each]),
                    number(statistics.median(each) / bare),
                    number(1e6 * (statistics.median(each) - bare)) if each is not taken[0] else "",
                ]
                for kind, each in zip(kinds, taken, strict=True)
            ]
        tracer.close()
    header = ("messages", "what listens", "ms", "÷ nothing", "µs more")
    return Section("What metrics and traces cost", _METHOD, table(header, rows))


def _measure(bench: Bench, memories: int, nodes: int, kinds: list[tuple[Listener, ...]]) -> list[list[float]]:
    with bench.installation() as installation:
        graph = make_graph(installation, "measured", memories, nodes, questions=50)
        settings = installation.settings.changed(answer_cache_entries=0)
        context = installation.acting_for(graph.claims).using(
            embedder=SyntheticEmbedder(graph.questions), settings=settings
        )
        for question in graph.questions:
            search(context, Question(question.text))

        def searcher(listeners: tuple[Listener, ...]) -> Callable[[], object]:
            questions = cycle(graph.questions)

            def once() -> object:
                with ExitStack() as listening:
                    for listener in listeners:
                        listening.callback(listen(listener))
                    return search(context, Question(next(questions).text))

            return once

        return in_turns([searcher(kind) for kind in kinds], QUICK_REPEATS if bench.quick else REPEATS)
