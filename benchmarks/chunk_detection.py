"""Database cost of one search for chunks with a hundred thousand open conversations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.report import Section, spread, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.ingestion.detection import TAILS_AT_ONCE, detect_chunks
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation

OPEN, QUICK_OPEN = 100_000, 2_000
MESSAGES, MESSAGE_TOKENS = 1_000, 560
TICKS = 7

_METHOD = f"""One tick of `chunk_threshold_sensor` without Dagster, with many open conversations. Database time is what
Postgres counts as active in `pg_stat_database`, without network round trips; the whole tick is wall time. A long
conversation has {MESSAGES:,} messages of {MESSAGE_TOKENS} tokens, alternating between user and assistant, and is cut
in one tick. One tick handles at most {TAILS_AT_ONCE} conversations; the others wait for the next."""

_OPEN = sql.SQL(
    "INSERT INTO neurigraph.sources (user_id, kind, external_id, last_message, untriggered_tokens) "
    "SELECT %(user_id)s, 'conversation', 'open-' || n, 40, 1000 + (n * 7919) %% 400000 "
    "FROM generate_series(1, %(count)s) AS n"
)
_LONG = sql.SQL(
    "WITH made AS ("
    "INSERT INTO neurigraph.sources (user_id, kind, external_id, last_message, untriggered_tokens) "
    "SELECT %(user_id)s, 'conversation', 'long-' || gen_random_uuid(), %(messages)s, "
    "%(messages)s::bigint * %(tokens)s::bigint "
    "FROM generate_series(1, %(count)s) RETURNING source_id) "
    "INSERT INTO neurigraph.messages "
    "(source_id, user_id, seq, role, content, token_count, content_hash, occurred_at, external_id) "
    "SELECT made.source_id, %(user_id)s, n, "
    "(CASE WHEN n %% 2 = 0 THEN 'assistant' ELSE 'user' END)::neurigraph.message_role, "
    "repeat('some words ', 200), %(tokens)s, sha256(''), now(), n::text "
    "FROM made, generate_series(1, %(messages)s) AS n"
)
_SETTLE = sql.SQL("VACUUM (ANALYZE) neurigraph.sources, neurigraph.messages, neurigraph.storage_triggers")
_ALL_WAIT = sql.SQL("UPDATE neurigraph.sources SET untriggered_tokens = 490000, tail_changed = %(changed)s")
_ACTIVE = sql.SQL("SELECT active_time FROM pg_stat_database WHERE datname = %(name)s")
_FLUSH = sql.SQL("SELECT pg_stat_force_next_flush()")


@dataclass(frozen=True, slots=True)
class _Tick:
    found: int
    database_ms: float
    whole_ms: float


def run(bench: Bench) -> Section:
    """Measure each situation in turn, in one database."""
    count = QUICK_OPEN if bench.quick else OPEN
    ticks = 2 if bench.quick else TICKS
    with bench.installation() as installation:
        # One connection, so that it can be asked to flush its statistics.
        settings = installation.settings.changed(database_pool_size=1)
        user_id = create_user(installation.database, "chunks")[0].user_id
        name = psycopg.conninfo.conninfo_to_dict(installation.administrator_url)["dbname"]
        observer = psycopg.conninfo.make_conninfo(installation.administrator_url, dbname="postgres")
        with (
            psycopg.connect(installation.administrator_url, autocommit=True) as administrator,
            psycopg.connect(observer, autocommit=True) as watching,
            Installation(settings) as alone,
        ):
            clock = _Clock(watching, str(name), alone.context)
            administrator.execute(_OPEN, {"user_id": user_id, "count": count})
            administrator.execute(_SETTLE)
            rows = [_row(f"{count:,} open, none long", [clock.tick() for _ in range(ticks)])]
            bench.say("some of them long")
            looks = []
            for _ in range(ticks):
                _add_long(administrator, user_id, 1)
                looks.append(clock.tick())
            rows.append(_row("plus 1 long, to be cut", looks))
            looks = []
            for _ in range(ticks):
                _add_long(administrator, user_id, TAILS_AT_ONCE)
                looks.append(clock.tick())
            rows.append(_row(f"plus {TAILS_AT_ONCE} long, to be cut", looks))
            bench.say("all of them waiting")
            administrator.execute(_ALL_WAIT, {"changed": False})
            administrator.execute(_SETTLE)
            rows.append(_row("all above the watch threshold, unchanged", [clock.tick() for _ in range(ticks)]))
            administrator.execute(_ALL_WAIT, {"changed": True})
            administrator.execute(_SETTLE)
            rows.append(_row("all above the watch threshold, all changed", [clock.tick() for _ in range(ticks)]))
    header = ("open conversations", "segments found", "database ms", "whole tick ms")
    return Section("Finding chunks to store", _METHOD, table(header, rows))


class _Clock:
    """Times one tick, as the database counts it."""

    def __init__(self, watching: psycopg.Connection[Any], name: str, context: Context) -> None:
        self._watching = watching
        self._name = name
        self._context = context
        self.tick()  # the first one connects and fills the caches

    def tick(self) -> _Tick:
        before = self._active()
        started = time.perf_counter()
        found = detect_chunks(self._context)
        whole = time.perf_counter() - started
        return _Tick(found, self._active() - before, whole * 1_000)

    def _active(self) -> float:
        with self._context.database.pipeline() as tx:
            tx.execute(_FLUSH)
        row = self._watching.execute(_ACTIVE, {"name": self._name}).fetchone()
        assert row is not None
        active: float = row[0]
        return active


def _add_long(administrator: psycopg.Connection[Any], user_id: UUID, count: int) -> None:
    values = {"user_id": user_id, "messages": MESSAGES, "tokens": MESSAGE_TOKENS, "count": count}
    administrator.execute(_LONG, values)
    administrator.execute(_SETTLE)


def _row(situation: str, ticks: Sequence[_Tick]) -> list[str]:
    return [
        situation,
        f"{max(tick.found for tick in ticks):,}",
        spread([tick.database_ms for tick in ticks]),
        spread([tick.whole_ms for tick in ticks]),
    ]
