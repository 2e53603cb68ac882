"""Time to provision a node, with few and with many existing nodes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import psycopg
from psycopg import sql

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, percentile, table
from neurigraph_pipelines.graph.provisioning import User, create_user, resolve_path
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.model.ports import Database

NODES = (10, 1_000)
QUICK_NODES = (3, 10)
MEASURED = 40
CONCURRENT = 4

_METHOD = f"""Nodes are created one at a time below the root of one user: registry row and node schema (three tables
with their indexes, triggers and policies) in one committed transaction. The baseline alternates with it: `CREATE
SCHEMA` and one empty table in one transaction of a plain connection. Then {CONCURRENT} threads create nodes at once.
The size of a node without memories is the growth of the database by those nodes: empty tables and indexes, and the
rows of the catalog."""


def run(bench: Bench) -> Section:
    """Measure at each number of existing nodes, in one database."""
    repeats = 4 if bench.quick else MEASURED
    rows = []
    with bench.installation() as installation, psycopg.connect(installation.administrator_url) as plain:
        database = installation.database
        user, _ = create_user(database, "provisioning")
        nodes = 1  # the root
        for wanted in QUICK_NODES if bench.quick else NODES:
            bench.say(f"{wanted} nodes")
            _concurrently(database, user, wanted - nodes)
            ours, theirs = in_turns([partial(_provision, database, user), partial(_create_plainly, plain)], repeats)
            alone = repeats / sum(ours)
            before = _database_size(plain)
            together = _concurrently(database, user, repeats * CONCURRENT)
            grown = (_database_size(plain) - before) / (repeats * CONCURRENT)
            nodes = wanted + repeats * (1 + CONCURRENT)
            rows.append(
                [
                    f"{wanted:,}",
                    *(number(percentile(ours, p) * 1_000) for p in (50, 95)),
                    *(number(percentile(theirs, p) * 1_000) for p in (50, 95)),
                    number(percentile(ours, 50) / percentile(theirs, 50)),
                    number(alone),
                    number(together),
                    number(grown / 1_000),
                ]
            )
    header = (
        *(
            "existing nodes",
            "node p50 ms",
            "p95 ms",
            "schema and table p50 ms",
            "p95 ms",
            "node ÷ schema and table (p50)",
        ),
        *("one at a time, nodes/s", f"{CONCURRENT} at once, nodes/s", "kB per empty node"),
    )
    return Section("Provisioning a node", _METHOD, table(header, rows))


def _provision(database: Database, user: User) -> None:
    path = (f"Topic {uuid4().hex}",)
    plan = PlannedNode(path=path, kind=ConceptKind.TOPIC, confidence=1.0, summary="A topic of a benchmark.")
    with database.pipeline() as tx:
        resolve_path(tx, user.user_id, user.slug, path, [plan])


def _create_plainly(connection: psycopg.Connection) -> None:
    schema = sql.Identifier(f"plain_{uuid4().hex}")
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    connection.execute(sql.SQL("CREATE TABLE {}.records (id uuid PRIMARY KEY, content text)").format(schema))
    connection.commit()


def _database_size(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    connection.commit()
    return int(row[0])


def _concurrently(database: Database, user: User, count: int) -> float:
    """Provision from several threads and return nodes per second."""
    started = time.perf_counter()
    with ThreadPoolExecutor(CONCURRENT) as pool:
        for future in [pool.submit(_provision, database, user) for _ in range(count)]:
            future.result()
    return count / (time.perf_counter() - started)
