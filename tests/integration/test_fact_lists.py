"""Lists of facts take as long with many facts as with few: indexes find what replaces and repeats each fact."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

import pytest

from neurigraph_pipelines.knowledge import effects
from neurigraph_pipelines.knowledge.fact_lists import FactFilter, list_facts
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.memories import rows

FEW, MANY = 300, 12_000
_PLANT = """INSERT INTO neurigraph.facts (
    fact_id, record_id, user_id, seq, first_message, last_message, statement, kind, stated_as, confidence, importance,
    impact, extractor, statement_key
)
SELECT
    gen_random_uuid(), r.record_id, r.user_id, n, 1, 1, 'Ana has boat ' || n / 2 || '.', 'state', 'statement', 0.6, 0.5,
    'medium', 'planted', n / 2
FROM generate_series(%(first)s::integer, %(last)s::integer) AS n CROSS JOIN neurigraph.record_index AS r
WHERE r.record_id = %(record_id)s"""


def plant(graph: Graph, record_id: UUID, first: int, last: int) -> None:
    """Let a record state facts, each of them twice."""
    with graph.here.database.owner() as tx:
        tx.execute(_PLANT, {"first": first, "last": last, "record_id": record_id})
        tx.execute("ANALYZE neurigraph.facts")


def quickest(work: Callable[[], object]) -> float:
    """Return the least of some durations, in seconds."""
    taken = []
    for _ in range(7):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


@pytest.mark.slow
def test_pages_and_beliefs_do_not_slow_down(here: Installation) -> None:
    graph = new_graph(here)
    (record_id,) = graph.remember("#Boats A boat is blue.")

    def page() -> None:
        found = list_facts(here.listing(graph.claims, limit=50), FactFilter()).items
        assert [one.source_count for one in found] == [1] * 50
        assert {one.said_count for one in found} <= {1, 2}

    def believe() -> None:
        newest = rows(here, "SELECT fact_id FROM neurigraph.facts WHERE user_id = %s LIMIT 20", graph.user.user_id)
        with here.database.agent(graph.claims) as tx:
            assert len(effects.read_beliefs(tx, [row["fact_id"] for row in newest])) == 20

    plant(graph, record_id, 1, FEW)
    before = [quickest(page), quickest(believe)]
    plant(graph, record_id, FEW + 1, MANY)
    after = [quickest(page), quickest(believe)]
    # Forty times as many facts: without the indexes, both took four times as long.
    assert [later / early < 3 for early, later in zip(before, after, strict=True)] == [True, True], (before, after)
