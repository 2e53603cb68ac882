"""Statistics of nodes equal the stored segments after any writes, moves, quarantines and erasures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User, resolve_path
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.model import ConceptKind, PlannedNode, Role, Voice
from neurigraph_pipelines.retrieval.index.node_words import NodeWords
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.search_segments import ROLES, SearchSegment, Spoken, Words
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.corpus import counted, held, passages_with
from tests.support.memories import converse, ingest, new_user, plain_context, rows, schemas_of

WORDS = ("walnut", "boat", "cello", "oil", "東京")
AUTHORS = (None, "Dave", "ÀNA")


CHANGE = (
    "UPDATE neurigraph.segments SET passages = %(passages)s, words = %(words)s, speakers = %(speakers)s, "
    "languages = %(languages)s, content = %(content)s WHERE record_id = %(record_id)s"
)
MOVE = "UPDATE neurigraph.segments SET node_id = %s WHERE record_id = %s"


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
        add_segment(tx, schema, record_id, passages)
    return record_id


def add_segment(
    tx: psycopg.Connection[Any], schema: str, record_id: UUID, passages: list[tuple[str | None, list[str]]]
) -> None:
    tx.execute(
        "INSERT INTO neurigraph.segments (record_id, user_id, node_id, passages, words, speakers, languages, content) "
        "SELECT %(record_id)s, g.user_id, g.node_id, %(passages)s, %(words)s, %(speakers)s, %(languages)s, %(content)s "
        "FROM neurigraph.graph_index AS g WHERE g.schema_name = %(schema)s",
        {"record_id": record_id, "schema": schema, **columns(passages)},
    )


def columns(passages: list[tuple[str | None, list[str]]]) -> dict[str, object]:
    """The columns of a segment; a passage with Chinese words is of a language of its own."""
    segment = SearchSegment.of(
        [
            Spoken(
                *(seq, 1, author, None, None, Role.USER, Voice.OWNER),
                *(Words(lexemes, [1] * len(lexemes), len(lexemes)), 0, float(len(lexemes))),
            )
            for seq, (author, lexemes) in enumerate(passages, 1)
        ]
    )
    languages = ["simple" if any(not one.isascii() for one in lexemes) else "english" for _, lexemes in passages]
    return columns_of(segment, languages, "english")


passage = st.tuples(st.sampled_from(AUTHORS), st.lists(st.sampled_from(WORDS), unique=True))
step = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("AB"), st.lists(passage, max_size=4)),
    st.tuples(st.just("erase record"), st.integers(0, 9), st.none()),
    st.tuples(st.just("change"), st.integers(0, 9), st.lists(passage, min_size=1, max_size=3)),
    st.tuples(st.just("hide"), st.integers(0, 9), st.none()),
    st.tuples(st.just("show"), st.integers(0, 9), st.none()),
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
                if action == "change":
                    tx.execute(CHANGE, {"record_id": record_id, **columns(passages)})
                elif action in ("hide", "show"):
                    tx.execute("SELECT neurigraph_private.set_quarantined(%s, %s)", [[record_id], action == "hide"])
                elif action == "erase record":
                    records = sql.Identifier(nodes[name][1], "metadata_records")
                    tx.execute(sql.SQL("DELETE FROM {} WHERE record_id = %s").format(records), [record_id])
                    stored.remove((name, record_id))
                elif action == "move" and len(nodes) == 2:
                    other, _ = nodes["B" if name == "A" else "A"]
                    tx.execute(MOVE, [other, record_id])
        assert counted(here, user) == held(here, user)


def test_pipeline_counts_stored_records(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave Dave moved to Lisbon.", "When?", "In spring, with his boat.")
    converse(here, claims, "#Work The desk needs oil.", "Oil for the boat, too.")
    ingest(plain_context(here), user)
    said = counted(here, user)
    assert said == held(here, user)
    assert sum(passages for passages, *_ in said["nodes"].values()) == 5
    assert passages_with(said, "boat") == 2
    segments = rows(here, "SELECT content FROM neurigraph.segments WHERE user_id = %s", user.user_id)
    assert len(segments) == 2
    for row in segments:
        passages = SearchSegment.read(row["content"]).rows
        assert (passages["window_length"] >= passages["lexeme_count"]).all()
        assert {ROLES[role] for role in passages["role"]} <= {Role.USER, Role.ASSISTANT}


def test_erased_user_leaves_no_statistics(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave Dave has a secret.")
    ingest(plain_context(here), user)
    assert passages_with(counted(here, user), "secret") == 1
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
    for table in ("segments", "layer_packs", "node_statistics", "user_changes", "node_changes", "record_changes"):
        query = sql.SQL("SELECT 1 FROM neurigraph.{} WHERE user_id = %s").format(sql.Identifier(table))
        with here.database.owner() as tx:
            assert tx.execute(query, [user.user_id]).fetchall() == [], table


def test_segments_that_no_trigger_counted_are_counted_again(shared_installation: Installation) -> None:
    here = shared_installation
    user, _ = new_user(here)
    node_id, schema = node_of(here, user, "A")
    with here.database.owner() as tx:
        record_id = add_record(tx, schema, [])
    with psycopg.connect(here.administrator_url) as connection:
        connection.execute("SET session_replication_role = replica")
        add_segment(connection, schema, record_id, [("Dave", ["boat", "oil"]), (None, ["boat"])])
    assert counted(here, user)["nodes"] == {}
    with here.database.owner() as tx:
        tx.execute("SELECT neurigraph_private.count_segments(ARRAY[%s]::uuid [])", [node_id])
    assert counted(here, user) == held(here, user)
    assert counted(here, user)["nodes"] == {node_id: (2, ["dave"], [])}


def test_words_of_nodes_that_did_not_change_are_read_once(
    shared_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a part of a graph is searched, a question reads the words of the nodes that changed, and others none."""
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Boats The walnut boat.", "#Music The walnut cello.", "#Garden A walnut tree.")
    ingest(plain_context(here), user)
    read: list[UUID] = []
    of = NodeWords.of

    def counting(row: Mapping[str, Any]) -> NodeWords:
        read.append(row["node_id"])
        return of(row)

    monkeypatch.setattr(NodeWords, "of", counting)
    settings = here.settings.changed(answer_cache_entries=0, max_anchors=1)
    context = plain_context(here).acting_for(claims).using(settings=settings)

    def best(query: str) -> str:
        return str(search(context, Question(query, limit=1)).hits[0].node_path).partition("/")[2]

    assert (best("cello"), best("boat"), best("tree")) == ("Music", "Boats", "Garden")
    assert len(read) == 3
    read.clear()
    converse(here, claims, "#Garden A kite in the tree.")
    ingest(plain_context(here), user)
    assert (best("kite"), best("boat")) == ("Garden", "Boats")
    assert read == [node_of(here, user, "Garden")[0]]
