"""Vector indexes of big nodes: same hits as exact search, and building them blocks nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import numpy as np
import psycopg
import pytest
from psycopg import sql

from benchmarks.retrieval.synthetic import Graph, SyntheticEmbedder, make_graph
from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.lifecycle.node_indexes import build_node_indexes, has_large
from neurigraph_pipelines.lifecycle.vector_indexes import (
    VECTORS,
    build_vector_indexes,
    count_due,
    drop_vector_indexes,
)
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.memories import converse, ingest, new_user, plain_context, rows

MEMORIES = 3_000


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> Graph:
    return make_graph(shared_installation, "big", MEMORIES, 2, questions=60)


@pytest.fixture(scope="module")
def settings(shared_installation: Installation) -> Settings:
    changed = {"vector_index_passages": 1_000, "answer_cache_entries": 0, "max_searched_passages": 100_000}
    return shared_installation.settings.changed(**changed)


def test_large_nodes_get_their_indexes(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Garden We planted an oak.")
    ingest(plain_context(here), user)
    (node,) = rows(
        here, "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND record_count = 1", user.user_id
    )
    query = "SELECT indexname FROM pg_indexes WHERE schemaname = %s ORDER BY indexname"
    large = here.context.using(settings=here.settings.changed(node_index_records=1))
    new = [row["indexname"] for row in rows(here, query, node["schema_name"])]
    assert new == ["file_manifest_pkey", "metadata_records_pkey", "passages_pkey"]
    assert (has_large(here.context), build_node_indexes(here.context)) == (False, [])
    assert has_large(large)
    assert node["schema_name"] in {one.schema_name for one in build_node_indexes(large, 100)}
    assert len(rows(here, query, node["schema_name"])) == len(new) + 12
    assert not has_large(large)


def ask(here: Installation, settings: Settings, graph: Graph, number: int, **more: Any) -> Found:
    embedder = SyntheticEmbedder(graph.questions)
    question = Question(graph.questions[number].text, limit=10, message_limit=10, **more)
    return search(here.acting_for(graph.claims).using(embedder=embedder, settings=settings), question)


def found(answer: Found) -> set[tuple[str, int]]:
    return {(str(message.record_id), message.seq) for message in answer.messages}


def test_indexed_search_equals_exact_search(
    shared_installation: Installation, settings: Settings, graph: Graph
) -> None:
    here = shared_installation
    numbers = range(len(graph.questions))
    exact = [found(ask(here, settings, graph, number)) for number in numbers]
    assert count_due(here.context.using(settings=settings)) == 2
    built = build_vector_indexes(here.context.using(settings=settings))
    assert [index.passages for index in built] == sorted((index.passages for index in built), reverse=True)
    assert count_due(here.context.using(settings=settings)) == 0
    assert build_vector_indexes(here.context.using(settings=settings)) == []
    assert {
        row["vector_index"]
        for row in rows(here, "SELECT vector_index FROM neurigraph.node_statistics WHERE passages > 1000")
    } == {"hnsw"}
    settings = settings.changed(layer_cache_mb=0)  # what is in memory is searched there
    indexed = [found(ask(here, settings, graph, number)) for number in numbers]
    recall = np.mean([len(a & b) / len(a) for a, b in zip(exact, indexed, strict=True)])
    assert recall >= 0.99
    # Asking for k gives k, whatever is left out.
    for more in (
        {"occurred_after": datetime(2020, 1, 3, tzinfo=UTC)},
        {"occurred_before": datetime(2020, 1, 1, 2, tzinfo=UTC)},
        {"at": datetime.now(UTC)},
    ):
        assert len(ask(here, settings, graph, 0, **more).messages) == 10
    assert ask(here, settings, graph, 0, occurred_before=datetime(2019, 1, 1, tzinfo=UTC)).messages == []


def test_indexed_node_uses_its_index(shared_installation: Installation, settings: Settings, graph: Graph) -> None:
    build_node_indexes(shared_installation.context.using(settings=settings))
    build_vector_indexes(shared_installation.context.using(settings=settings))
    schema = rows(shared_installation, "SELECT schema_name FROM neurigraph.graph_index WHERE record_count > 50")[0]
    with psycopg.connect(shared_installation.administrator_url) as connection:
        connection.execute("SET ROLE neurigraph_owner")
        for column in VECTORS:
            plan = connection.execute(
                sql.SQL(
                    "EXPLAIN SELECT p.seq FROM {}.passages AS p "
                    "ORDER BY neurigraph_private.distance(p.{}, array_fill(0.1, ARRAY[512])::halfvec) LIMIT 10"
                ).format(sql.Identifier(schema["schema_name"]), sql.Identifier(column))
            ).fetchall()
            assert f"passages_{column}_hnsw" in str(plan)
        plan = connection.execute(
            sql.SQL("EXPLAIN SELECT p.seq FROM {}.passages AS p WHERE p.lexemes @> ARRAY['word9999']").format(
                sql.Identifier(schema["schema_name"])
            )
        ).fetchall()
        assert "passages_lexemes" in str(plan)


def test_interrupted_build_is_repaired(shared_installation: Installation, settings: Settings, graph: Graph) -> None:
    here = shared_installation
    build_vector_indexes(here.context.using(settings=settings))
    (node,) = rows(
        here,
        "SELECT node_id, schema_name FROM neurigraph.graph_index JOIN neurigraph.node_statistics USING (node_id) "
        "WHERE passages > 1000 ORDER BY passages DESC LIMIT 1",
    )
    with psycopg.connect(here.administrator_url, autocommit=True) as connection:
        index = f"{node['schema_name']}.passages_embedding_hnsw"
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [index])
        connection.execute(
            "UPDATE neurigraph.node_statistics SET vector_index = NULL WHERE node_id = %s", [node["node_id"]]
        )
        assert [built.node_id for built in build_vector_indexes(here.context.using(settings=settings))] == [
            node["node_id"]
        ]
        row = connection.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", [index]).fetchone()
    assert row == (True,)


def vector_index_names(here: Installation) -> set[str]:
    query = (
        "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'passages%%embedding%%' AND indexdef LIKE '%%halfvec%%'"
    )
    return {row["indexname"] for row in rows(here, query)}


def test_index_kind_is_replaced(shared_installation: Installation, settings: Settings, graph: Graph) -> None:
    here = shared_installation
    build_vector_indexes(here.context.using(settings=settings))
    assert vector_index_names(here) == {f"passages_{column}_hnsw" for column in VECTORS}
    build_vector_indexes(here.context.using(settings=settings.changed(vector_index_method="ivfflat")))
    assert vector_index_names(here) == {f"passages_{column}_ivfflat" for column in VECTORS}
    build_vector_indexes(here.context.using(settings=settings))
    assert vector_index_names(here) == {f"passages_{column}_hnsw" for column in VECTORS}


def test_small_nodes_lose_indexes(shared_installation: Installation, settings: Settings, graph: Graph) -> None:
    here = shared_installation
    build_vector_indexes(here.context.using(settings=settings))
    query = "SELECT passages FROM neurigraph.node_statistics WHERE passages > 1000 ORDER BY passages"
    smaller, bigger = (row["passages"] for row in rows(here, query))
    near = settings.changed(vector_index_passages=bigger + 1)
    assert drop_vector_indexes(here.context.using(settings=near)) == [], "a little less is no reason"
    assert count_due(here.context.using(settings=near)) == 0
    small = settings.changed(vector_index_passages=2 * bigger + 1)
    assert count_due(here.context.using(settings=small)) == 2
    assert [node.passages for node in drop_vector_indexes(here.context.using(settings=small), limit=1)] == [smaller]
    assert [node.passages for node in drop_vector_indexes(here.context.using(settings=small))] == [bigger]
    assert vector_index_names(here) == set()
    assert count_due(here.context.using(settings=small)) == 0
    assert len(ask(here, small, graph, 0).messages) == 10


@pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")
def test_maintenance_asset(
    shared_installation: Installation, settings: Settings, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = shared_installation
    drop_vector_indexes(here.context.using(settings=settings.changed(vector_index_passages=1_000_000)))

    def run(threshold: int) -> dict[str, Any]:
        describe(settings, monkeypatch, NEURIGRAPH_VECTOR_INDEX_PASSAGES=str(threshold))
        with dg.DagsterInstance.ephemeral() as instance:
            result = defs.get_job_def("vector_index_job").execute_in_process(instance=instance)
        (event,) = result.asset_materializations_for_node("vector_indexes")
        return {name: value.value for name, value in event.metadata.items()}

    built = run(1_000)
    assert (built["nodes indexed"], built["indexes dropped"], built["nodes still waiting"]) == (2, 0, 0)
    assert vector_index_names(here) == {f"passages_{column}_hnsw" for column in VECTORS}
    built = run(1_000_000)
    assert (built["nodes indexed"], built["indexes dropped"], built["nodes still waiting"]) == (0, 2, 0)
    assert vector_index_names(here) == set()
