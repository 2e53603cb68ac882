"""Corpus statistics equal the stored passages after any writes, moves and erasures."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from benchmarks.retrieval.synthetic import make_graph
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import User, resolve_path
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support.corpus import counted, held
from tests.support.memories import converse, ingest, new_user, node_rows, plain_context, rows, schemas_of

WORDS = ("walnut", "boat", "cello", "oil", "東京")
AUTHORS = (None, "Dave", "ÀNA")


def node_of(installation: Installation, user: User, name: str) -> tuple[UUID, str]:
    with installation.database.owner() as tx:
        planned = [PlannedNode((name,), ConceptKind.TOPIC, 1.0)]
        node = resolve_path(tx, user.user_id, user.slug, (name,), planned)
    return node.node_id, node.schema_name


def add_record(tx: psycopg.Connection[Any], schema: str, passages: list[tuple[str | None, list[str]]]) -> UUID:
    """A record with passages, each an author and distinct lexemes."""
    record_id = uuid4()
    tx.execute(
        "INSERT INTO neurigraph.sources (source_id, user_id, kind, event_kind, external_id) "
        "SELECT %s, g.user_id, 'event', 'milestone', %s FROM neurigraph.graph_index AS g WHERE g.schema_name = %s",
        [record_id, str(record_id), schema],
    )
    tx.execute(
        sql.SQL(
            "INSERT INTO {}.metadata_records (record_id, title, summary, embedding, embedding_pending, content_type, "
            "trigger_type, source_kind, source_id, first_message, last_message, content_hash, occurred_at) VALUES "
            "(%s, 't', 's', array_fill(0, ARRAY[1536])::vector, true, 'other', 'event_boundary', 'event', %s, 1, 1, "
            "sha256(%s::bytea), now())"
        ).format(sql.Identifier(schema)),
        [record_id, record_id, record_id.bytes],
    )
    if passages:
        tx.execute(
            sql.SQL(
                "INSERT INTO {}.passages (record_id, seq, first_message, last_message, author, byte_offset, "
                "byte_length, lexemes, frequencies, lexeme_count) "
                "SELECT %s, p.seq, 1, 1, p.author, 0, 0, string_to_array(p.lexemes, ' '), "
                "array_fill(1::smallint, ARRAY[p.number]), p.number FROM unnest(%s::int[], %s::text[], %s::text[], "
                "%s::int[]) AS p (seq, author, lexemes, number)"
            ).format(sql.Identifier(schema)),
            [
                record_id,
                list(range(1, len(passages) + 1)),
                [author for author, _ in passages],
                [" ".join(lexemes) for _, lexemes in passages],
                [len(lexemes) for _, lexemes in passages],
            ],
        )
    return record_id


passage = st.tuples(st.sampled_from(AUTHORS), st.lists(st.sampled_from(WORDS), unique=True))
step = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("AB"), st.lists(passage, max_size=4)),
    st.tuples(st.just("erase record"), st.integers(0, 9), st.none()),
    st.tuples(st.just("erase passage"), st.integers(0, 9), st.none()),
    st.tuples(st.just("move"), st.integers(0, 9), st.none()),
    st.tuples(st.just("undone"), st.sampled_from("AB"), st.lists(passage, min_size=1, max_size=2)),
    st.tuples(st.just("drop node"), st.just("B"), st.none()),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(step, max_size=8))
def test_any_write_sequence_is_counted(shared_installation: Installation, steps: list[tuple[str, Any, Any]]) -> None:
    here = shared_installation
    user, _ = new_user(here)
    nodes = {name: node_of(here, user, name) for name in "AB"}
    stored: list[tuple[str, UUID]] = []
    for action, what, passages in steps:
        with here.database.owner() as tx:
            if action == "add" and what in nodes:
                stored.append((what, add_record(tx, nodes[what][1], passages)))
            elif action == "undone" and what in nodes:
                with tx.transaction(force_rollback=True):
                    add_record(tx, nodes[what][1], passages)
            elif action == "drop node" and what in nodes:
                node_id, schema = nodes.pop(what)
                stored = [place for place in stored if place[0] != what]
                tx.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
                tx.execute("DELETE FROM neurigraph.graph_index WHERE node_id = %s", [node_id])
            elif stored and isinstance(what, int):
                name, record_id = stored[what % len(stored)]
                table = sql.Identifier(nodes[name][1], "passages")
                if action == "erase passage":
                    tx.execute(sql.SQL("DELETE FROM {} WHERE record_id = %s AND seq = 1").format(table), [record_id])
                elif action == "erase record":
                    records = sql.Identifier(nodes[name][1], "metadata_records")
                    tx.execute(sql.SQL("DELETE FROM {} WHERE record_id = %s").format(records), [record_id])
                    stored.remove((name, record_id))
                elif action == "move" and len(nodes) == 2:
                    other = "B" if name == "A" else "A"
                    record = add_record(tx, nodes[other][1], [])
                    tx.execute(
                        sql.SQL(
                            "WITH gone AS (DELETE FROM {} WHERE record_id = %s RETURNING *) "
                            "INSERT INTO {} (record_id, seq, first_message, last_message, author, byte_offset, "
                            "byte_length, lexemes, frequencies, lexeme_count) "
                            "SELECT %s, seq, 1, 1, author, 0, 0, lexemes, frequencies, lexeme_count FROM gone"
                        ).format(table, sql.Identifier(nodes[other][1], "passages")),
                        [record_id, record],
                    )
                    stored.append((other, record))
        assert counted(here, user) == held(here, user)


def test_pipeline_counts_stored_records(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave Dave moved to Lisbon.", "When?", "In spring, with his boat.")
    converse(here, claims, "#Work The desk needs oil.", "Oil for the boat, too.")
    ingest(plain_context(here), user)
    said = counted(here, user)
    assert said == held(here, user)
    assert said["totals"][0] == 5
    assert said["lexemes"]["boat"] == 2
    (row,) = rows(here, "SELECT records FROM neurigraph.user_statistics WHERE user_id = %s", user.user_id)
    assert row["records"] == 2
    for schema in schemas_of(here, user).values():
        lengths = node_rows(here, schema, "SELECT role::text, window_length, lexeme_count FROM {schema}.passages")
        assert all(row["window_length"] >= row["lexeme_count"] for row in lengths)
        assert {row["role"] for row in lengths} <= {"user", "assistant"}


def test_erased_user_leaves_no_statistics(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave Dave has a secret.")
    ingest(plain_context(here), user)
    assert counted(here, user)["lexemes"]
    with here.database.owner() as tx:
        tx.execute("SELECT set_config('neurigraph.erasing', 'on', true)")
        for schema in schemas_of(here, user).values():
            tx.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
        tx.execute(
            "UPDATE neurigraph.graph_index SET parent_node_id = parent_node_id WHERE user_id = %s", [user.user_id]
        )
        for depth in range(5, -1, -1):
            tx.execute(
                "DELETE FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = %s", [user.user_id, depth]
            )
        tx.execute("DELETE FROM neurigraph.users WHERE user_id = %s", [user.user_id])
    for table in ("user_lexemes", "node_lexemes", "node_statistics", "user_statistics", "user_changes"):
        query = sql.SQL("SELECT 1 FROM neurigraph.{} WHERE user_id = %s").format(sql.Identifier(table))
        with here.database.owner() as tx:
            assert tx.execute(query, [user.user_id]).fetchall() == [], table


def test_lexemes_do_not_change_under_the_counter(shared_installation: Installation) -> None:
    here = shared_installation
    user, _ = new_user(here)
    _, schema = node_of(here, user, "A")
    with here.database.owner() as tx:
        add_record(tx, schema, [("Dave", ["boat"])])
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState), here.database.owner() as tx:
        tx.execute(sql.SQL("UPDATE {}.passages SET lexemes = '{{cello}}'").format(sql.Identifier(schema)))


def test_recount_counts_uncounted_rows(shared_installation: Installation) -> None:
    here = shared_installation
    user, _ = new_user(here)
    node_id, schema = node_of(here, user, "A")
    with here.database.owner() as tx:
        passages = sql.Identifier(schema, "passages")
        tx.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(passages))
        add_record(tx, schema, [("Dave", ["boat", "oil"]), (None, ["boat"])])
        tx.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(passages))
    assert counted(here, user)["lexemes"] == {}
    with here.database.owner() as tx:
        tx.execute("SELECT neurigraph_private.recount_node(%s)", [node_id])
    assert counted(here, user) == held(here, user)
    assert counted(here, user)["lexemes"] == {"boat": 2, "oil": 1, "@dave": 1}


def test_query_reads_only_its_lexemes(installation: Installation) -> None:
    tables = ("node_lexemes", "user_lexemes")
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        for table in tables:
            connection.execute(
                sql.SQL("ALTER TABLE neurigraph.{} SET (autovacuum_enabled = off)").format(sql.Identifier(table))
            )
    graph = make_graph(installation, "unanalysed", 400, 1, questions=1)
    words = graph.questions[0].text.split()
    asked = {"lexemes": " ".join(words), "stems": "", "speaker": None, "dimensions": 512, "known_version": None}
    asked |= {"known_unstored": None, "unstored_since": None, "unstored_most": 0}
    payload, signature = Secret(SECRET).sign(graph.claims)
    signed = {"payload": payload, "signature": signature}
    with installation.database.agent(graph.claims) as tx:
        assert any(row["content"] for row in tx.execute(statements("search")["search_gate"], asked | signed).fetchall())
        read = tx.execute(
            "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables "
            "WHERE relname = ANY(%s)",
            [list(tables)],
        ).fetchall()
    assert {row["relname"]: 0 < row["rows"] <= len(words) for row in read} == dict.fromkeys(tables, True)
    known = rows(installation, "SELECT count(*) AS lexemes FROM neurigraph.node_lexemes")[0]["lexemes"]
    assert known > 50 * len(words)
