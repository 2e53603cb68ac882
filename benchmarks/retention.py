"""Cost of the sweep of expired memories among many rows, and of counting accesses after a search."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

import psycopg
from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from benchmarks.rows import insert_segments, segment
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import User, create_user, resolve_path
from neurigraph_pipelines.lifecycle import archive
from neurigraph_pipelines.model import Claims, ConceptKind, PlannedNode
from neurigraph_pipelines.wiring.installation import Installation

ROWS, DUE = 1_000_000, 1_000
QUICK_ROWS, QUICK_DUE = 1_000, 20
MESSAGES = 10
HITS = 10
REPEATS = 200

_METHOD = f"""{ROWS:,} rows of retention, of which {DUE:,} have expired: memories with {MESSAGES} messages each in one
node. *Nothing due* is a dry run before they expire; *sweep* archives them with everything that is counted from them and
a delta each, at most 100 in a transaction. The baseline sets a flag on as many rows of a plain table of this size with
the same index. *Hits* is what a search asks beside all else where something expires: the expiries of {HITS} hits.
*Counted* is the statement in the background that extends the lives of {HITS} memories, and *not counted* the same again
within the hour."""

_RETRIEVALS, _RETENTION = statements("retrievals"), statements("retention")
_PATH = ("Errands",)
_RECORDS = """
WITH n AS (
    INSERT INTO neurigraph.sources (user_id, kind, external_id)
    SELECT %(user_id)s, 'conversation', 'due ' || n FROM generate_series(1, %(due)s) AS g (n)
    RETURNING source_id AS record_id
)

INSERT INTO {schema}.metadata_records (
    record_id, title, summary, embedding, embedding_model, content_type, trigger_type, source_kind, source_id,
    first_message, last_message, content_hash, occurred_at
)
SELECT
    n.record_id, 'Record ' || n.record_id, repeat('what was said of ' || n.record_id || ' ', 4),
    array_fill(0.025, ARRAY[1536])::vector, 'synthetic', 'conversation', 'conversation_end', 'conversation',
    n.record_id, 1, %(messages)s, sha256(n.record_id::text::bytea), now()
FROM n
"""
_REGISTERED = """
WITH n AS (
    INSERT INTO neurigraph.sources (user_id, kind, external_id)
    SELECT %(user_id)s, 'note', 'kept ' || n FROM generate_series(1, %(rows)s) AS g (n)
    RETURNING source_id AS record_id
)

INSERT INTO neurigraph.record_index (record_id, node_id, user_id, source_id, source_kind, content_hash)
SELECT n.record_id, %(node_id)s, %(user_id)s, n.record_id, 'note', sha256(n.record_id::text::bytea)
FROM n
"""
_RETAINED = """
INSERT INTO neurigraph.record_retention (record_id, user_id, tier, lifetime, granted_until, expires_at, reason)
SELECT
    r.record_id, r.user_id, 'mid', interval '7 days', w.until, w.until, 'a benchmark'
FROM neurigraph.record_index AS r
CROSS JOIN LATERAL (
    SELECT now() + interval '1 day' + random() * interval '6 days' AS until WHERE r.record_id IS NOT NULL
) AS w
"""
_EXPIRE = """
UPDATE neurigraph.record_retention AS t
SET granted_until = now() - interval '1 hour', expires_at = now() - interval '1 hour'
WHERE t.record_id IN (SELECT r.record_id FROM {schema}.metadata_records AS r)
"""
_PLAIN = """
CREATE TABLE plain_retention AS
SELECT t.record_id, t.expires_at, false AS is_archived FROM neurigraph.record_retention AS t;
CREATE INDEX ON plain_retention (expires_at) WHERE NOT is_archived;
ANALYZE plain_retention;
"""
_ARCHIVE_PLAINLY = "UPDATE plain_retention SET is_archived = true WHERE expires_at <= now() AND NOT is_archived"


def run(bench: Bench) -> Section:
    """Fill a database, sweep it, and note accesses."""
    rows, due = (QUICK_ROWS, QUICK_DUE) if bench.quick else (ROWS, DUE)
    with bench.installation() as installation:
        bench.say(f"{rows:,} rows of retention")
        user, schema = _fill(installation, rows, due)
        idle = _seconds(lambda: archive.sweep(installation.context, dry_run=True))
        hits, counted, uncounted = _accesses(installation, user, schema, 3 if bench.quick else REPEATS)
        with installation.database.owner() as tx:
            tx.execute(sql.SQL(_EXPIRE).format(schema=schema))
        bench.say(f"a sweep of {due:,}")
        planned = _seconds(lambda: archive.sweep(installation.context, dry_run=True))
        with psycopg.connect(installation.administrator_url, autocommit=True) as plain:
            plain.execute(_PLAIN)
            baseline = _seconds(lambda: plain.execute(_ARCHIVE_PLAINLY))
        before = _peak_memory()
        swept = _seconds(lambda: archive.sweep(installation.context))
        after = _peak_memory()
    header = (
        *("rows", "due", "nothing due ms", "dry run ms", "sweep s", "ms a memory", "plain update s"),
        *("peak memory before, MB", "with the sweep, MB"),
        *("hits ms", "counted ms", "not counted ms"),
    )
    found = [
        *(f"{rows:,}", f"{due:,}", number(idle * 1_000), number(planned * 1_000), number(swept)),
        *(
            number(swept * 1_000 / due),
            number(baseline),
            number(before),
            number(after),
            number(hits),
            number(counted),
            number(uncounted),
        ),
    ]
    return Section("Retention", _METHOD, table(header, [found]))


def _fill(installation: Installation, rows: int, due: int) -> tuple[User, sql.Identifier]:
    """Create a user with that many records, of which those that will be due are in a node."""
    user, _ = create_user(installation.database, "retained")
    with installation.database.owner() as tx:
        node = resolve_path(tx, user.user_id, user.slug, _PATH, [PlannedNode(_PATH, ConceptKind.TOPIC, 1.0)])
        schema = sql.Identifier(node.schema_name)
        values = {"due": due, "messages": MESSAGES, "node_id": node.node_id, "user_id": user.user_id}
        tx.execute(sql.SQL(_RECORDS).format(schema=schema), values)
        insert_segments(tx, schema, [segment([(f"word{number}", "boat") for number in range(MESSAGES)])])
        tx.execute(sql.SQL(_REGISTERED), {**values, "rows": rows - due})
        tx.execute(sql.SQL(_RETAINED))
        tx.execute("ANALYZE neurigraph.record_index, neurigraph.record_retention")
    return user, schema


def _accesses(
    installation: Installation, user: User, schema: sql.Identifier, repeats: int
) -> tuple[float, float, float]:
    """Return the median milliseconds of reading expiries, of counting accesses, and of not counting them again."""
    claims, database = Claims.of_user(user.user_id), installation.database
    with database.pipeline() as tx:
        found = tx.execute(sql.SQL("SELECT r.record_id FROM {}.metadata_records AS r").format(schema)).fetchall()
    ids: list[UUID] = [row["record_id"] for row in found]
    times: dict[str, list[float]] = {"shown": [], "counted": [], "not counted": []}
    for turn in range(repeats):
        start = turn * HITS % max(len(ids) - HITS, 1)
        some = {"record_ids": ids[start : start + HITS]}
        noted = {**some, "operation": "search", "question": None, "is_logged": False}
        for name, query, values in (
            ("shown", _RETENTION["of_records"], some),
            ("counted", _RETRIEVALS["note"], noted),
            ("not counted", _RETRIEVALS["note"], noted),
        ):
            times[name].append(_seconds(partial(database.ask, claims, query, values)))
        with database.pipeline() as tx:
            tx.execute(
                "UPDATE neurigraph.record_retention SET hour_askers = '{}' WHERE record_id = ANY(%(record_ids)s)", some
            )
    shown, counted, uncounted = (sorted(found)[len(found) // 2] * 1_000 for found in times.values())
    return shown, counted, uncounted


def _peak_memory() -> float:
    """Return the greatest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
