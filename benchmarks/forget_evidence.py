"""Cost of forgetting with evidence, against the same memories without: ``python -m benchmarks.forget_evidence``.

Prints a table for ``docs/benchmarks/forgetting.md``.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from functools import partial
from uuid import UUID

from benchmarks.bench import Bench, forget_own_settings, in_turns
from benchmarks.forget import fill_graph, forget_user
from benchmarks.report import number, spread, table
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation

MEMORIES = 200
NODES = 11
MENTIONS = 10
EDGES = 2
RECORDS = 30
"""Memories that are forgotten one by one in each graph."""

USERS = 4
"""Whole graphs that are forgotten of each kind."""

USERS_MEMORIES = 99

# Each memory mentions its own node and those after it, and states relations of it to the next ones.
_MENTIONS = """
INSERT INTO neurigraph.mentions (user_id, record_id, node_id, role, detected_by)
SELECT i.user_id, i.record_id, g.node_id, CASE WHEN k.n = 0 THEN 'subject' ELSE 'mention' END::neurigraph.mention_role,
    'model'
FROM neurigraph.record_index AS i
CROSS JOIN generate_series(0, %(mentions)s - 1) AS k (n)
INNER JOIN unnest(%(nodes)s::uuid []) WITH ORDINALITY AS g (node_id, place)
    ON g.place - 1 = (array_position(%(nodes)s::uuid [], i.node_id) - 1 + k.n) %% cardinality(%(nodes)s::uuid [])
WHERE i.user_id = %(user_id)s
"""
_EDGES = """
INSERT INTO neurigraph.node_edges (user_id, from_node_id, to_node_id, relation, strength, evidence_count)
SELECT %(user_id)s, f.node_id, t.node_id, 'related to', 0, 0
FROM unnest(%(nodes)s::uuid []) WITH ORDINALITY AS f (node_id, place)
CROSS JOIN generate_series(1, %(edges)s) AS k (n)
INNER JOIN unnest(%(nodes)s::uuid []) WITH ORDINALITY AS t (node_id, place)
    ON t.place - 1 = (f.place - 1 + k.n) %% cardinality(%(nodes)s::uuid [])
"""
_EVIDENCE = """
INSERT INTO neurigraph.edge_evidence (
    user_id, edge_id, from_node_id, to_node_id, relation, record_id, weight, detected_by
)
SELECT i.user_id, e.edge_id, e.from_node_id, e.to_node_id, e.relation, i.record_id, 0.5, 'model'
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.node_edges AS e ON i.node_id = e.from_node_id
WHERE i.user_id = %(user_id)s
"""


def measure(bench: Bench) -> str:
    """Return a table: seconds of forgetting one memory, and a graph, with evidence and without."""
    memories, nodes = 40 if bench.quick else MEMORIES, NODES
    with bench.installation() as installation:
        users = [fill_graph(installation, f"kept-{kind}", memories, nodes) for kind in ("plain", "evidence")]
        rows = _add_evidence(installation, users[1], nodes)
        turns = [partial(_forget_next, installation, user, _records(installation, user)) for user in users]
        plain, proven = in_turns(turns, 5 if bench.quick else RECORDS)
        found = [_row("one memory", f"{rows / memories:.0f}", plain, proven)]
        whole: list[list[float]] = [[], []]
        memories = min(memories, USERS_MEMORIES)
        for turn in range(1 if bench.quick else USERS):
            bench.say(f"graphs of {memories:,} memories, turn {turn + 1}")
            users = [fill_graph(installation, f"gone-{turn}-{kind}", memories, nodes) for kind in ("plain", "evidence")]
            rows = _add_evidence(installation, users[1], nodes)
            for seconds, user in zip(whole, users, strict=True):
                seconds.append(forget_user(installation, user)[1])
        found.append(_row(f"a graph of {memories:,} memories", f"{rows:,}", *whole))
    return table(("forgotten", "rows of evidence", "without ms", "with ms", "ratio of the medians"), found)


def _row(what: str, rows: str, plain: list[float], proven: list[float]) -> list[str]:
    shown = [spread([second * 1_000 for second in seconds]) for seconds in (plain, proven)]
    return [what, rows, *shown, number(statistics.median(proven) / statistics.median(plain))]


def _add_evidence(installation: Installation, user: User, nodes: int) -> int:
    """Let the memories of a graph mention nodes and state relations; return how many rows that are."""
    with installation.database.pipeline() as tx:
        query = "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 1 ORDER BY node_id"
        places = [row["node_id"] for row in tx.execute(query, [user.user_id])]
        assert len(places) == nodes
        values = {"user_id": user.user_id, "nodes": places, "mentions": MENTIONS, "edges": EDGES}
        mentioned = tx.execute(_MENTIONS, values).rowcount
        tx.execute(_EDGES, values)
        stated = tx.execute(_EVIDENCE, values).rowcount
        return mentioned + stated


def _records(installation: Installation, user: User) -> Iterator[UUID]:
    with installation.database.pipeline() as tx:
        query = "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s ORDER BY record_id"
        return iter([row["record_id"] for row in tx.execute(query, [user.user_id])])


def _forget_next(installation: Installation, user: User, records: Iterator[UUID]) -> None:
    asking = installation.acting_for(Claims.of_user(user.user_id))
    forget(asking, Subject(SubjectKind.RECORD, next(records)), through="benchmark")


def main() -> None:
    """Print the table and the circumstances."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forget_evidence", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small graphs: only see that it works")
    chosen = parser.parse_args()
    forget_own_settings()
    with Bench(quick=chosen.quick) as bench:
        print(measure(bench))
        print(f"\n*{bench.circumstances()}*")


if __name__ == "__main__":
    main()
