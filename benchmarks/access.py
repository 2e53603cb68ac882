"""Cost of access checks in the database: the same questions with and without them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from itertools import cycle
from uuid import UUID

from psycopg import sql

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.exchange.sharing import Subject, grant
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.model import Claims, GrantType, SubjectType
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation

SIZES = ((1_000, 20), (5_000, 200))
QUICK_SIZES = ((200, 5),)
LARGE_SIZES = (*SIZES, (20_000, 1_000))
REPEATS = 101

_METHOD = """Two installations have the same memories (384 dimensions, twenty messages a record). In one, everything is
as usual: claims are signed and checked, search asks who sees what, tables have their policies. In the other, claims
are trusted, everybody sees the whole graph, and row-level security is off. The owner's questions go through
`retrieval.search`, alternating, without cached answers; and a page of a node's records is read from its tables. A
third party in the guarded installation has a grant on every single node; it gets none of the statistics that are
stored for the owner."""

# Replaces the checks of a search; the rest of the search is the same.
_UNGUARDED = """
CREATE OR REPLACE FUNCTION neurigraph.claims() RETURNS jsonb LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT current_setting('request.jwt.claims', true)::jsonb $$;
CREATE OR REPLACE FUNCTION neurigraph.visible_nodes(asking jsonb) RETURNS SETOF neurigraph.graph_index
LANGUAGE sql STABLE AS $$
    SELECT g.* FROM neurigraph.graph_index AS g WHERE g.user_id = (asking ->> 'user_id')::uuid $$;
CREATE OR REPLACE FUNCTION neurigraph_private.visible_node_ids(asking jsonb) RETURNS uuid []
LANGUAGE sql STABLE AS $$ SELECT NULL::uuid [] $$;
CREATE OR REPLACE FUNCTION neurigraph_private.counts_are_visible(asking jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT true $$;
CREATE OR REPLACE FUNCTION neurigraph_private.hidden_sources(asking jsonb) RETURNS uuid []
LANGUAGE sql STABLE AS $$ SELECT '{}'::uuid [] $$;
DO $$
DECLARE
    guarded regclass;
BEGIN
    FOR guarded IN SELECT c.oid FROM pg_class AS c WHERE c.relrowsecurity AND c.relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', guarded);
    END LOOP;
END
$$;
"""


def run(bench: Bench) -> Section:
    """Measure a small and a medium graph, and with ``--large`` a large one."""
    rows = []
    for memories, nodes in QUICK_SIZES if bench.quick else LARGE_SIZES if bench.large else SIZES:
        bench.say(f"{memories:,} messages in {nodes:,} nodes")
        rows += _measure(bench, memories, nodes, 5 if bench.quick else REPEATS)
    header = ("messages", "nodes", "call", "without ms", "with ms", "with ÷ without", "third party ms")
    return Section("Access checks", _METHOD, table(header, rows))


def _measure(bench: Bench, memories: int, nodes: int, repeats: int) -> list[list[str]]:
    with bench.installation() as guarded, bench.installation() as unguarded:
        graphs = [make_graph(each, "access", memories, nodes, questions=50) for each in (guarded, unguarded)]
        with unguarded.database.owner() as tx:
            tx.execute(sql.SQL(_UNGUARDED))
        third = Claims("benchmark", "third_party", graphs[0].claims.user_id)
        _grant_everything(guarded, graphs[0].claims)
        askers = [
            (unguarded, graphs[1], graphs[1].claims),
            (guarded, graphs[0], graphs[0].claims),
            (guarded, graphs[0], third),
        ]
        measured = [
            ("search", in_turns([_searcher(*asker) for asker in askers], repeats)),
            ("records of a node", in_turns([_reader(*asker) for asker in askers], repeats)),
        ]
    return [
        [
            f"{memories:,}",
            f"{nodes:,}",
            call,
            *(spread([taken * 1_000 for taken in each]) for each in (without, guards)),
            number(statistics.median(guards) / statistics.median(without)),
            spread([taken * 1_000 for taken in thirds]),
        ]
        for call, (without, guards, thirds) in measured
    ]


def _grant_everything(installation: Installation, owner: Claims) -> None:
    with installation.database.agent(owner) as tx:
        nodes = tx.execute("SELECT node_id FROM neurigraph.graph_index").fetchall()
    for node in nodes:
        subject = Subject(SubjectType.THIRD_PARTY, "benchmark")
        grant(installation.database, owner, subject, node["node_id"], GrantType.READ)


def _searcher(installation: Installation, graph: Graph, claims: Claims) -> Callable[[], object]:
    settings = installation.settings.changed(answer_cache_entries=0)
    embedder, questions = SyntheticEmbedder(graph.questions), cycle(graph.questions)
    context = installation.acting_for(claims).using(embedder=embedder, settings=settings)
    return lambda: search(context, Question(next(questions).text))


def _reader(installation: Installation, _: Graph, claims: Claims) -> Callable[[], object]:
    with installation.database.agent(claims) as tx:
        row = tx.execute("SELECT node_id FROM neurigraph.graph_index WHERE record_count > 0 LIMIT 1").fetchone()
    assert row is not None
    return partial(_read, installation, claims, row["node_id"])


def _read(installation: Installation, claims: Claims, node_id: UUID) -> None:
    with installation.database.agent(claims) as tx:
        navigation.records(tx, node_id)
