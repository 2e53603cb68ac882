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
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, converse, explained, ingest, new_user, plain_context, rows
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
    layers = caches_of(here.database).nodes
    return {
        row["node_name"]: layer
        for row in found
        if (layer := layers.get(NodeLayers, row["node_id"], (row["version"], WordEmbedder.model))) is not None
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
    with here.database.owner() as tx, tx.transaction(force_rollback=True):
        changed = tx.execute(
            "UPDATE neurigraph.segments SET vectors = NULL, model = NULL WHERE user_id = %s", [claims.user_id]
        )
        assert changed.rowcount == len(TOPICS)
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
    layers = caches_of(here.database).nodes
    ask(here, claims)
    most = max(layer.size for layer in kept(here, claims).values())
    for name, layer in kept(here, claims).items():
        layers.put(name, layer, most, size=layer.size, version="1")
    assert sum(layers.get(NodeLayers, name, "1") is not None for name in TOPICS) == 1


def test_message_is_found_once(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Boats " + " ".join(f"The boat has rope number {n}." for n in range(400)), "A cello.")
    ingest(plain_context(here), user)
    (row,) = rows(here, "SELECT content FROM neurigraph.segments WHERE user_id = %s", user.user_id)
    passages = SearchSegment.read(row["content"]).rows["message"].tolist()
    assert (len(passages) > 2, set(passages)) == (True, {1, 2}), "the long one was split"
    found = ask(here, claims, "rope number 399", message_limit=50).messages
    assert [message.seq for message in found] == [1, 2]


def test_cached_layers_open_nothing(graph: SharedGraph) -> None:
    here = graph.installation
    everything = {hit.record_id for hit in ask(here, graph.owners, "Zanzibar contract").hits}
    hers = ask(here, graph.personas, "Zanzibar contract").hits
    assert {hit.record_id for hit in hers} < everything
    assert {hit.node_path for hit in hers} == {"Legal", "Legal/Contracts"}


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


def test_accented_words_are_found(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Boats Fátima and Yıldız built it.", "Did they?", "Something else.")
    ingest(plain_context(here), user)
    for word in ("Fatima", "Fátima", "FÁTIMA", "yildiz", "Yıldız"):
        best = ask(here, claims, word, explain=True).messages[0]
        assert best.seq == 1
        assert explained(best)["window_lexical"] > 0, word
