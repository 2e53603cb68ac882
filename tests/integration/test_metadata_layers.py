"""Metadata layers in memory: reloads, cache size and access control."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg import sql

from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, converse, explained, ingest, new_user, plain_context, rows, schemas_of
from tests.support.shared_graph import SharedGraph, new_shared_graph

TOPICS = ("Boats", "Music", "Garden")


@pytest.fixture
def claims(shared_installation: Installation) -> Claims:
    here = shared_installation
    user, claims = new_user(here)
    for topic in TOPICS:
        converse(here, claims, f"#{topic} Something about {topic}.", f"And more about {topic}.")
    ingest(plain_context(here), user)
    return claims


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def ask(here: Installation, claims: Claims, text: str = "something", megabytes: int = 64, **more: Any) -> Found:
    settings = here.settings.changed(answer_cache_entries=0, layer_cache_mb=megabytes)
    return search(
        here.acting_for(claims).using(embedder=WordEmbedder(), settings=settings), Question(text, limit=50, **more)
    )


def kept(here: Installation, claims: Claims) -> dict[str, NodeLayers]:
    """What is kept of somebody's nodes as they are now, by name."""
    with here.database.owner() as tx:
        found = tx.execute(
            "SELECT g.node_id::text, g.node_name, v.version FROM neurigraph.graph_index AS g "
            "CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v WHERE g.user_id = %s",
            [claims.user_id],
        ).fetchall()
    layers = caches_of(here.database).layers
    return {
        row["node_name"]: layer
        for row in found
        if (layer := layers.get(row["node_id"], (row["version"], WordEmbedder.model))) is not None
    }


def rename(here: Installation, claims: Claims, topic: str, title: str) -> None:
    user = rows(here, "SELECT * FROM neurigraph.users WHERE user_id = %s", claims.user_id)[0]
    (schema,) = rows(
        here,
        "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND node_name = %s",
        user["user_id"],
        topic,
    )
    with here.database.owner() as tx:
        authored(tx, "tests")
        statement = sql.SQL("UPDATE {}.metadata_records SET title = %s").format(sql.Identifier(schema["schema_name"]))
        tx.execute(statement, [title])


def test_write_reloads_one_layer(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    ask(here, claims)
    before = kept(here, claims)
    assert before.keys() == set(TOPICS)
    ask(here, claims, "more")
    assert kept(here, claims) == before, "nothing changed"
    rename(here, claims, "Music", "Renamed")
    assert kept(here, claims).keys() == {"Boats", "Garden"}
    assert "Renamed" in {hit.title for hit in ask(here, claims).hits}
    after = kept(here, claims)
    assert {name for name in TOPICS if after[name] is before[name]} == {"Boats", "Garden"}


def test_rollback_keeps_layers(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    ask(here, claims)
    before = kept(here, claims)
    (schema, *_) = (
        row["schema_name"]
        for row in rows(
            here,
            "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 1",
            claims.user_id,
        )
    )
    with here.database.owner() as tx, tx.transaction(force_rollback=True):
        tx.execute(sql.SQL("DELETE FROM {}.passages").format(sql.Identifier(schema)))
    assert kept(here, claims) == before


def test_cache_size_is_bounded(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    expected = ask(here, claims)
    assert kept(here, claims).keys() == set(TOPICS)
    rename(here, claims, "Boats", "Renamed")
    without = ask(here, claims, megabytes=0)
    assert without.messages == expected.messages, "what is not kept is read"
    assert "Renamed" in {hit.title for hit in without.hits}
    assert kept(here, claims).keys() == {"Music", "Garden"}
    layers = caches_of(here.database).layers
    ask(here, claims)
    most = max(layer.size for layer in kept(here, claims).values())
    for name, layer in kept(here, claims).items():
        layers.put(name, layer, most, size=layer.size, version="1")
    assert sum(layers.get(name, "1") is not None for name in TOPICS) == 1


def test_change_notes_are_bounded(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    for number in range(40):
        rename(here, claims, "Music", str(number))
    with here.database.owner() as tx:
        changes = tx.execute(
            "SELECT count(*) AS n FROM neurigraph.node_changes WHERE user_id = %s", [claims.user_id]
        ).fetchone()
    assert changes is not None
    assert changes["n"] < 15


def test_message_is_found_once(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Boats " + " ".join(f"The boat has rope number {n}." for n in range(400)), "A cello.")
    ingest(plain_context(here), user)
    (schema,) = [home for path, home in schemas_of(here, user).items() if path == "Boats"]
    passages = rows(here, f'SELECT DISTINCT first_message FROM "{schema}".passages')
    many = rows(here, f'SELECT count(*) AS n FROM "{schema}".passages')[0]["n"]
    assert many > len(passages) == 2, "the long one was split"
    found = ask(here, claims, "rope number 399", message_limit=50).messages
    assert [message.seq for message in found] == [1, 2]


def test_cached_layers_open_nothing(graph: SharedGraph) -> None:
    here = graph.installation
    everything = {hit.record_id for hit in ask(here, graph.owners, "Zanzibar contract").hits}
    hers = ask(here, graph.personas, "Zanzibar contract").hits
    assert {hit.record_id for hit in hers} < everything
    assert {hit.node_path for hit in hers} == {"Legal", "Legal/Contracts"}


def test_ended_grant_closes_layer(graph: SharedGraph) -> None:
    here, guest = graph.installation, graph.third_party("guest")
    ask(here, graph.owners, "Zanzibar")
    assert ask(here, guest, "Zanzibar").hits == []
    grant = graph.grant("Work/Marketing", "guest")
    assert [str(hit.node_path).endswith("Marketing") for hit in ask(here, guest, "Zanzibar").hits] == [True]
    graph.revoke(grant)
    assert ask(here, guest, "Zanzibar").hits == []


def test_private_records_are_not_shared(shared_installation: Installation) -> None:
    graph = new_shared_graph(shared_installation)
    here = shared_installation
    hidden, _ = graph.record_of("Work/Legal")
    shown = {hit.record_id for hit in ask(here, graph.owners, "lawyers").hits}
    assert hidden in shown & {hit.record_id for hit in ask(here, graph.personas, "lawyers").hits}
    with here.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.sources SET privacy = 'private' WHERE source_id = "
            "(SELECT source_id FROM neurigraph.record_index WHERE record_id = %s)",
            [hidden],
        )
    for _ in range(2):
        assert hidden not in {hit.record_id for hit in ask(here, graph.personas, "lawyers").hits}
        assert hidden in {hit.record_id for hit in ask(here, graph.owners, "lawyers").hits}


def test_accented_words_are_found(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    query = "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Boats'"
    (boats,) = rows(here, query, claims.user_id)
    with here.database.owner() as tx:
        places = {"passages": sql.Identifier(boats["schema_name"], "passages")}
        for statement in (
            "CREATE TEMPORARY TABLE earlier ON COMMIT DROP AS SELECT * FROM {passages} WHERE seq = 1",
            "UPDATE earlier SET lexemes = ARRAY['fátima', 'yıldız'], frequencies = ARRAY[1, 1], lexeme_count = 2",
            "DELETE FROM {passages} WHERE seq = 1",
            "INSERT INTO {passages} SELECT * FROM earlier",
        ):
            tx.execute(sql.SQL(statement).format(**places))
    for word in ("Fatima", "Fátima", "FÁTIMA", "yildiz", "Yıldız"):
        best = ask(here, claims, word, explain=True).messages[0]
        assert best.seq == 1
        assert explained(best)["window_lexical"] > 0, word
