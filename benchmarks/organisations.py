"""Searches of a member of an organisation against those of the owner of the same graph."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import cycle

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation

SIZES = ((1_000, 20), (5_000, 200))
QUICK_SIZES = ((200, 5),)
REPEATS = 101

_METHOD = """One graph (384 dimensions, twenty messages a record) whose owner asks, and a member of the organization
that it is made into; the questions go through `retrieval.search`, alternating, without cached answers. *All shared*:
nothing is hidden from the member. *Some private*: one record in fifty is, of another member."""

_ORGANIZATION = """
INSERT INTO neurigraph.organizations (user_id, name) VALUES (%(graph)s, 'Measured') ON CONFLICT DO NOTHING
"""
_MEMBER = """
INSERT INTO neurigraph.organization_members (user_id, member_id, role) VALUES (%(graph)s, %(member)s, 'member')
"""
_PRIVATE = """
UPDATE neurigraph.sources AS s SET privacy = 'private'
WHERE s.source_id IN (
    SELECT r.source_id FROM neurigraph.record_index AS r WHERE r.user_id = %(graph)s
    ORDER BY r.record_id LIMIT %(hidden)s
)
"""


def run(bench: Bench) -> Section:
    """Measure a small and a medium graph."""
    rows = []
    for memories, nodes in QUICK_SIZES if bench.quick else SIZES:
        bench.say(f"{memories:,} messages in {nodes:,} nodes")
        rows += _measure(bench, memories, nodes, 5 if bench.quick else REPEATS)
    header = ("messages", "nodes", "sources", "owner ms", "member ms", "member ÷ owner")
    return Section("Organisations", _METHOD, table(header, rows))


def _measure(bench: Bench, memories: int, nodes: int, repeats: int) -> list[list[str]]:
    with bench.installation() as installation:
        graph = make_graph(installation, "organization", memories, nodes, questions=50)
        member, _ = create_user(installation.database, "member")
        values = {"graph": graph.claims.user_id, "member": member.user_id, "hidden": max(1, memories // 1_000)}
        with installation.database.owner() as tx:
            tx.execute(_ORGANIZATION, values)
            tx.execute(_MEMBER, values)
        claims = Claims(str(member.user_id), "member", graph.claims.user_id)
        askers = [_searcher(installation, graph, each) for each in (graph.claims, claims)]
        shared = in_turns(askers, repeats)
        with installation.database.owner() as tx:
            tx.execute(_PRIVATE, values)
        hidden = in_turns(askers, repeats)
    return [
        [
            f"{memories:,}",
            f"{nodes:,}",
            what,
            *(spread([taken * 1_000 for taken in each]) for each in (owners, members)),
            number(statistics.median(members) / statistics.median(owners)),
        ]
        for what, (owners, members) in (("all shared", shared), ("some private", hidden))
    ]


def _searcher(installation: Installation, graph: Graph, claims: Claims) -> Callable[[], object]:
    settings = installation.settings.changed(answer_cache_entries=0)
    embedder, questions = SyntheticEmbedder(graph.questions), cycle(graph.questions)
    context = installation.acting_for(claims).using(embedder=embedder, settings=settings)
    return lambda: search(context, Question(next(questions).text))
