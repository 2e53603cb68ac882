"""Cost of spaces: the same calls of the owner, of the owner within a space, and of a key that is bound to it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import cycle

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation

MESSAGES, NODES, SOURCES = 20_000, 100, 10_000
QUICK = (400, 5, 200)
SHARE = 10
"""One source of so many is in the space."""

REPEATS = 51

_METHOD = """One user has 10,000 sources; a thousand of them have a memory of twenty messages each, in a hundred nodes.
A tenth of all sources is in a space. The owner asks without a limit, with a filter for the space, and a key that is
bound to the space asks, alternating, without cached answers: searches by `retrieval.search`, and the first page of the
list of memories."""

_FILL_UP = """
INSERT INTO neurigraph.sources (user_id, kind, external_id)
SELECT %(user_id)s, 'conversation', 'empty ' || n
FROM generate_series(1, %(sources)s - (SELECT count(*) FROM neurigraph.sources WHERE user_id = %(user_id)s)) AS g (n)
"""
_PUT_IN_SPACE = """
INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)
SELECT s.source_id, p.space_id, s.user_id
FROM (SELECT s.*, row_number() OVER (ORDER BY s.external_id) AS n FROM neurigraph.sources AS s) AS s
INNER JOIN neurigraph.spaces AS p ON s.user_id = p.user_id
WHERE s.user_id = %(user_id)s AND s.n %% %(share)s = 0
"""


def run(bench: Bench) -> Section:
    """Measure one graph with many sources."""
    memories, nodes, sources = QUICK if bench.quick else (MESSAGES, NODES, SOURCES)
    repeats = 3 if bench.quick else REPEATS
    with bench.installation() as installation:
        graph = make_graph(installation, "spaces", memories, nodes, questions=50)
        bound = _bound_key(installation, graph.claims, sources)
        callers = (graph.claims, graph.claims.within(["garden"]), bound)
        bench.say(f"{sources:,} sources")
        measured = [
            ("search", in_turns([_searcher(installation, graph, one) for one in callers], repeats)),
            ("list of memories", in_turns([_lister(installation, one) for one in callers], repeats)),
        ]
    rows = [
        [
            call,
            *(spread([taken * 1_000 for taken in each]) for each in (whole, filtered, of_key)),
            number(statistics.median(filtered) / statistics.median(whole)),
            number(statistics.median(of_key) / statistics.median(filtered)),
        ]
        for call, (whole, filtered, of_key) in measured
    ]
    header = ("call", "no limit ms", "filter ms", "bound key ms", "filter ÷ no limit", "key ÷ filter")
    return Section("Spaces", _METHOD, table(header, rows))


def _bound_key(installation: Installation, owner: Claims, sources: int) -> Claims:
    """Put a tenth of the sources into a space, and return the claims of a key that is bound to it."""
    database = installation.database
    _, secret = sharing.issue_key(database, owner, container_tags=["garden"])
    values = {"user_id": owner.user_id, "share": SHARE}
    with database.owner() as tx:
        tx.execute(_FILL_UP, {**values, "sources": sources})
        tx.execute(_PUT_IN_SPACE, values)
    with database.owner() as tx:
        tx.execute("ANALYZE neurigraph.sources, neurigraph.source_spaces, neurigraph.record_index")
    return authenticate(database, secret)


def _searcher(installation: Installation, graph: Graph, claims: Claims) -> Callable[[], object]:
    settings = installation.settings.changed(answer_cache_entries=0)
    embedder, questions = SyntheticEmbedder(graph.questions), cycle(graph.questions)
    context = installation.acting_for(claims).using(embedder=embedder, settings=settings)
    return lambda: search(context, Question(next(questions).text))


def _lister(installation: Installation, claims: Claims) -> Callable[[], object]:
    return lambda: list_records(installation.database, installation.cursors, claims, RecordFilter(), limit=50)
