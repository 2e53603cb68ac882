"""Cost of forgetting a user with many memories, against a cascading delete of as many rows of one plain table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from uuid import uuid4

import psycopg
from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.report import Section, number, spread, table
from benchmarks.rows import insert_segments, segment
from neurigraph_pipelines.graph.provisioning import User, create_user, resolve_path
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model import Claims, ConceptKind, PlannedNode
from neurigraph_pipelines.views.erasures import Erasure
from neurigraph_pipelines.wiring.installation import Installation

MEMORIES = 10_000
NODES = 100
QUICK_MEMORIES = 100
QUICK_NODES = 5
MESSAGES = 10
REPEATS = 3
BESIDE = "beside"

_METHOD = f"""A user with {MEMORIES:,} memories in {NODES} nodes is forgotten: rows, schemas, then objects. Each memory
has {MESSAGES} messages and one file of two small objects in a local folder. Another user with a tenth of that stays.
The baseline alternates with it: deleting the one row of a plain parent table, and with it by `ON DELETE CASCADE` as
many rows of one flat table (an id, the parent's id with an index, 200 characters) as the receipt counts, committed.
*One record* is a record of the other user, forgotten afterwards."""

_RECORDS = """
INSERT INTO {schema}.metadata_records (
    record_id, title, summary, embedding, embedding_model, content_type, trigger_type, source_kind, source_id,
    first_message, last_message, content_hash, file_pointer, occurred_at
)
SELECT
    n.record_id, 'Record ' || n.record_id, repeat('what was said of ' || n.record_id || ' ', 4),
    array_fill(0.025, ARRAY[1536])::vector, 'synthetic', 'conversation', 'conversation_end', 'conversation',
    n.record_id, 1, %(messages)s, sha256(n.record_id::text::bytea),
    %(folder)s || n.record_id || '-00000000.jsonl.gz', now()
FROM (SELECT gen_random_uuid() AS record_id FROM generate_series(1, %(records)s)) AS n
"""
_FILES = """
INSERT INTO {schema}.file_manifest (
    file_id, record_id, file_name, file_type, storage_path, compression_state, compression_format, size_bytes,
    stored_bytes, stored_sha256, content_sha256
)
SELECT
    gen_random_uuid(), r.record_id, 'transcript', 'transcript', r.file_pointer, 'active', 'gzip', 1000, 300,
    r.content_hash, r.content_hash
FROM {schema}.metadata_records AS r
RETURNING storage_path
"""
_SHARED = """
WITH records AS (SELECT r.record_id, r.user_id FROM neurigraph.record_index AS r WHERE r.node_id = %(node_id)s),

sources AS (
    INSERT INTO neurigraph.sources (
        source_id, user_id, kind, external_id, title, ended_at, last_message, stored_through, triggered_through
    )
    SELECT
        r.record_id, r.user_id, 'conversation', r.record_id::text, 'A title', now(),
        %(messages)s, %(messages)s, %(messages)s
    FROM records AS r
    RETURNING source_id, user_id
),

deltas AS (
    INSERT INTO neurigraph.delta_log (user_id, record_id, w_coordinate, delta_payload, authored_by)
    SELECT r.user_id, r.record_id, now(), '{"operation": "create"}', 'benchmark' FROM records AS r
)

INSERT INTO neurigraph.messages (
    source_id, seq, user_id, role, token_count, content_hash, occurred_at, external_id
)
SELECT s.source_id, m.seq, s.user_id, 'user', 20, sha256(m.seq::text::bytea), now(), m.seq::text
FROM sources AS s CROSS JOIN generate_series(1, %(messages)s) AS m (seq)
"""


def run(bench: Bench) -> Section:
    """Forget a user and delete plain rows, alternating; then forget one record."""
    memories, nodes = (QUICK_MEMORIES, QUICK_NODES) if bench.quick else (MEMORIES, NODES)
    with bench.installation() as installation, psycopg.connect(installation.administrator_url) as plain:
        other = fill_graph(installation, BESIDE, memories // 10, max(nodes // 10, 1))
        whole, rows_only, baseline = [], [], []
        for turn in range(1 if bench.quick else REPEATS):
            bench.say(f"a user with {memories:,} memories, turn {turn + 1}")
            user = fill_graph(installation, f"forgotten-{turn}", memories, nodes)
            receipt, seconds, seconds_of_rows = forget_user(installation, user)
            rows = sum(count for name, count in receipt.erased.items() if not name.startswith("object"))
            whole.append(seconds)
            rows_only.append(seconds_of_rows)
            baseline.append(_delete_plainly(plain, rows))
        record = _forget_record(installation, other)
    ratios = [ours / theirs for ours, theirs in zip(rows_only, baseline, strict=True)]
    header = (
        *("memories", "rows", "objects", "forget s", "rows s", "cascading delete s"),
        *("rows ÷ cascading delete", "memories/s", "one record ms"),
    )
    found = [
        f"{memories:,}",
        f"{rows:,}",
        f"{receipt.erased['objects']:,}",
        *map(spread, (whole, rows_only, baseline, ratios)),
        number(memories / sorted(whole)[len(whole) // 2]),
        number(record * 1_000),
    ]
    return Section("Forgetting", _METHOD, table(header, [found]))


def fill_graph(installation: Installation, slug: str, memories: int, nodes: int) -> User:
    """Create a user with rows and objects like those of stored conversations, written without the pipeline."""
    user, _ = create_user(installation.database, slug)
    folder = installation.home / "objects"
    for place in range(nodes):
        path = (f"Topic {place}",)
        with installation.database.owner() as tx:
            node = resolve_path(tx, user.user_id, slug, path, [PlannedNode(path, ConceptKind.TOPIC, 1.0)])
            schema = sql.Identifier(node.schema_name)
            values = {
                "records": memories // nodes,
                "messages": MESSAGES,
                "folder": f"durable/{slug}/topic_{place}/",
                "node_id": node.node_id,
            }
            tx.execute(sql.SQL(_RECORDS).format(schema=schema), values)
            insert_segments(tx, schema, _segments())
            keys = [row["storage_path"] for row in tx.execute(sql.SQL(_FILES).format(schema=schema))]
            tx.execute(sql.SQL(_SHARED), values)
            tx.execute(
                "UPDATE neurigraph.graph_index SET record_count = %(records)s WHERE node_id = %(node_id)s", values
            )
        for key in keys:
            for name, size in ((key, 300), (active_key(key), 1_000)):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(bytes(size))
    return user


def _segments() -> list[dict[str, object]]:
    """Return a hundred segments with messages of some of twenty thousand words."""
    chance = Random(1)
    return [
        segment([sorted({f"word{int(chance.random() ** 3 * 20_000)}" for _ in range(12)}) for _ in range(MESSAGES)])
        for _ in range(100)
    ]


def forget_user(installation: Installation, user: User) -> tuple[Erasure, float, float]:
    """Return the receipt, the seconds in total, and the seconds until the objects were removed."""
    removing: list[float] = []

    def tell(what: str, _: int) -> None:
        if what == "nodes":
            removing[:] = [time.perf_counter()]

    started = time.perf_counter()
    receipt = forget(
        installation.acting_for(Claims.of_user(user.user_id)),
        Subject(SubjectKind.USER, user.user_id),
        through="benchmark",
        on_done=tell,
    )
    return receipt, time.perf_counter() - started, removing[0] - started


def _forget_record(installation: Installation, user: User) -> float:
    with installation.database.pipeline() as tx:
        row = tx.execute(
            "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s LIMIT 1", [user.user_id]
        ).fetchone()
    assert row is not None
    started = time.perf_counter()
    forget(
        installation.acting_for(Claims.of_user(user.user_id)),
        Subject(SubjectKind.RECORD, row["record_id"]),
        through="benchmark",
    )
    return time.perf_counter() - started


def _delete_plainly(connection: psycopg.Connection, rows: int) -> float:
    """Return the seconds of deleting a parent with ``rows`` rows of one table."""
    parent = uuid4()
    with _plain_tables(connection):
        connection.execute("INSERT INTO plain_parent SELECT %s", [parent])
        connection.execute(
            "INSERT INTO plain_rows SELECT gen_random_uuid(), %s, repeat('x', 200) FROM generate_series(1, %s)",
            [parent, rows],
        )
        connection.commit()
        started = time.perf_counter()
        connection.execute("DELETE FROM plain_parent WHERE id = %s", [parent])
        connection.commit()
        return time.perf_counter() - started


@contextmanager
def _plain_tables(connection: psycopg.Connection) -> Iterator[None]:
    connection.execute("CREATE TABLE plain_parent (id uuid PRIMARY KEY)")
    connection.execute(
        "CREATE TABLE plain_rows "
        "(id uuid PRIMARY KEY, parent uuid REFERENCES plain_parent ON DELETE CASCADE, said text)"
    )
    connection.execute("CREATE INDEX ON plain_rows (parent)")
    yield
    connection.execute("DROP TABLE plain_rows, plain_parent")
    connection.commit()
