"""Cost of history: reading a past state over many deltas, and writing a delta with each change."""

from __future__ import annotations

import statistics
from functools import partial
from uuid import UUID, uuid4

from psycopg import sql

from benchmarks.bench import Bench, in_turns
from benchmarks.chat import conversation
from benchmarks.report import Section, number, spread, table
from benchmarks.rows import provision, store_record
from neurigraph_pipelines.graph.history import append_delta, authored, diff, history, record_at
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation

DELTAS = (1, 100, 1_000, 10_000)
QUICK_DELTAS = (1, 20)
RECORDS = 1_000
QUICK_RECORDS = 10
REPEATS = 21
WORDS_OF_SUMMARY = 200

_METHOD = f"""*Reading*: one memory with many deltas, each with another title and another summary of {WORDS_OF_SUMMARY}
words, is read as it is now and as it was created, which undoes all deltas; then the newest page of its history, and
the difference since its creation. The baseline reads the row alone by its id, in the same role. *Writing*: one
`UPDATE` of the title, or of the vector and its model, of all memories of a node, with the trigger that appends deltas
and with it disabled. Everything alternates."""


def run(bench: Bench) -> Section:
    """Measure reading, then writing, in one installation."""
    repeats = 3 if bench.quick else REPEATS
    with bench.installation() as installation:
        user, _ = create_user(installation.database, "changing")
        claims = Claims.of_user(user.user_id)
        node = provision(installation, user, "Desks")
        schema = sql.Identifier(node.schema_name)
        reading = []
        for deltas in QUICK_DELTAS if bench.quick else DELTAS:
            bench.say(f"a memory of {deltas:,} deltas")
            (record_id,) = _store(installation, user, schema, 1)
            _revise(installation, schema, record_id, deltas - 1)
            reading.append(_read(installation, claims, schema, record_id, deltas, repeats))
        bench.say("changing all memories of a node")
        changed = provision(installation, user, "Chairs")
        _store(installation, user, sql.Identifier(changed.schema_name), QUICK_RECORDS if bench.quick else RECORDS)
        writing = _write(installation, sql.Identifier(changed.schema_name), 3 if bench.quick else 7)
    read = table(
        ("deltas", "row alone ms", "now ms", "as created ms", "as created ÷ row", "50 deltas ms", "diff ms"), reading
    )
    written = table(
        ("change", "memories", "without deltas ms", "with deltas ms", "with ÷ without", "µs a delta"), writing
    )
    return Section("History of memories", _METHOD, f"{read}\n\n{written}")


def _store(installation: Installation, user: User, schema: sql.Identifier, count: int) -> list[UUID]:
    record_ids = [uuid4() for _ in range(count)]
    with installation.database.pipeline() as tx:
        for record_id in record_ids:
            store_record(tx, user, schema, record_id, "nowhere")
            append_delta(tx, record_id, {}, {"title": "A benchmark"}, "pipeline:benchmark", operation="create")
    return record_ids


def _revise(installation: Installation, schema: sql.Identifier, record_id: UUID, times: int) -> None:
    """Change title and summary ``times`` times, one transaction each."""
    update = sql.SQL("UPDATE {}.metadata_records SET title = %s, summary = %s WHERE record_id = %s").format(schema)
    words = " ".join(message.content for message in conversation(0).messages).split()
    for change in range(times):
        first = change % (len(words) - WORDS_OF_SUMMARY)
        with installation.database.pipeline() as tx:
            authored(tx, "pipeline:benchmark")
            summary = " ".join((str(change), *words[first : first + WORDS_OF_SUMMARY]))
            tx.execute(update, [f"Title {change}", summary, record_id])


def _read(
    installation: Installation,
    claims: Claims,
    schema: sql.Identifier,
    record_id: UUID,
    deltas: int,
    repeats: int,
) -> list[str]:
    database = installation.database
    created = history(database, claims, record_id, limit=deltas)[-1].changed_at
    row = sql.SQL("SELECT * FROM {}.metadata_records WHERE record_id = %(record_id)s").format(schema)
    alone, now, first, page, changes = in_turns(
        (
            partial(database.ask, claims, row, {"record_id": record_id}),
            partial(record_at, database, claims, record_id),
            partial(record_at, database, claims, record_id, created),
            partial(history, database, claims, record_id),
            partial(diff, database, claims, record_id, created),
        ),
        repeats,
    )
    return [
        f"{deltas:,}",
        *(spread([taken * 1_000 for taken in each]) for each in (alone, now, first)),
        number(statistics.median(first) / statistics.median(alone)),
        *(spread([taken * 1_000 for taken in each]) for each in (page, changes)),
    ]


def _write(installation: Installation, schema: sql.Identifier, repeats: int) -> list[list[str]]:
    rows = []
    for name, columns in (
        ("title", "title = gen_random_uuid()::text"),
        ("vector and its model", "embedding = embedding, embedding_model = gen_random_uuid()::text"),
    ):
        update = sql.SQL("UPDATE {}.metadata_records SET " + columns).format(schema)
        plain, logged = in_turns([partial(_update, installation, schema, update, on) for on in (False, True)], repeats)
        count = _update(installation, schema, update, True)
        without, with_deltas = statistics.median(plain), statistics.median(logged)
        rows.append(
            [
                name,
                f"{count:,}",
                *(spread([taken * 1_000 for taken in each]) for each in (plain, logged)),
                number(with_deltas / without),
                number((with_deltas - without) / count * 1_000_000),
            ]
        )
    return rows


def _update(installation: Installation, schema: sql.Identifier, update: sql.Composed, logged: bool) -> int:
    """Change all memories, roll back, and return their number."""
    wanted = sql.SQL("ENABLE" if logged else "DISABLE")
    with installation.database.owner() as tx:
        tx.execute(sql.SQL("ALTER TABLE {}.metadata_records {} TRIGGER log_change").format(schema, wanted))
        authored(tx, "pipeline:benchmark")
        changed = tx.execute(update).rowcount
        tx.rollback()
    return changed
