"""Indexes of large nodes: all of them are made, found valid, and used."""

from __future__ import annotations

from typing import Any

import dagster as dg
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.defs.embeddings.node_index_assets import layer_packs, node_indexes
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.lifecycle.node_indexes import build_node_indexes, count_large
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.memories import converse, ingest, new_user, plain_context, rows

KEYS = ["file_manifest_pkey", "metadata_records_pkey"]
INDEXES = 11
LARGE = 2


@pytest.fixture
def schema(installation: Installation) -> str:
    """The schema of a large node; another node is small."""
    user, claims = new_user(installation)
    converse(installation, claims, "#Garden We planted an oak.")
    converse(installation, claims, "#Garden And a beech.", "#Boats The boat needs oil.")
    ingest(plain_context(installation), user)
    query = "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND record_count = %s"
    (node,) = rows(installation, query, user.user_id, LARGE)
    return str(node["schema_name"])


@pytest.fixture
def context(installation: Installation) -> Context:
    return installation.context.using(settings=installation.settings.changed(node_index_records=LARGE))


def indexes(here: Installation, schema: str) -> list[str]:
    query = "SELECT indexname FROM pg_indexes WHERE schemaname = %s ORDER BY indexname"
    return [row["indexname"] for row in rows(here, query, schema)]


def test_large_nodes_get_their_indexes(installation: Installation, context: Context, schema: str) -> None:
    assert indexes(installation, schema) == KEYS
    assert (count_large(installation.context), build_node_indexes(installation.context)) == (0, [])
    assert count_large(context) == 1
    (built,) = build_node_indexes(context)
    assert (built.schema_name, built.records) == (schema, LARGE)
    made = indexes(installation, schema)
    assert len(made) == len(KEYS) + INDEXES
    assert (count_large(context), build_node_indexes(context)) == (0, [])
    small = rows(installation, "SELECT schema_name FROM neurigraph.graph_index WHERE record_count = 1")
    assert [indexes(installation, node["schema_name"]) for node in small] == [KEYS]


def test_the_largest_nodes_come_first(installation: Installation, schema: str) -> None:
    everything = installation.context.using(settings=installation.settings.changed(node_index_records=1))
    assert count_large(everything) == 2
    assert [node.schema_name for node in build_node_indexes(everything, limit=1)] == [schema]
    assert [node.records for node in build_node_indexes(everything, limit=1)] == [1]
    assert count_large(everything) == 0


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (
            "SELECT FROM {}.metadata_records ORDER BY embedding <=> array_fill(0.1, ARRAY[1536])::vector LIMIT 1",
            "embedding",
        ),
        ("SELECT FROM {}.metadata_records WHERE kw_topics @> ARRAY['oak']", "keywords"),
        ("SELECT FROM {}.metadata_records WHERE tsv @@ to_tsquery('simple', 'oak')", "tsv"),
    ],
)
def test_indexes_are_used(
    installation: Installation, context: Context, schema: str, statement: str, index: str
) -> None:
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        connection.execute("SET ROLE neurigraph_owner")
        connection.execute("SET enable_seqscan = off")
        explained = sql.SQL("EXPLAIN " + statement).format(sql.Identifier(schema))
        assert f"metadata_records_{index}" not in str(connection.execute(explained).fetchall())
        build_node_indexes(context)
        assert f"metadata_records_{index}" in str(connection.execute(explained).fetchall())


@pytest.mark.parametrize("index", ["metadata_records_embedding", "metadata_records_tsv"])
def test_interrupted_build_is_repaired(installation: Installation, context: Context, schema: str, index: str) -> None:
    build_node_indexes(context)
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        # The build ended at this index, which is invalid; those after it are missing.
        invalid = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass"
        connection.execute(invalid, [f"{schema}.{index}"])
        if index != "metadata_records_embedding":
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, "metadata_records_embedding")))
        assert count_large(context) == 1
        assert [built.schema_name for built in build_node_indexes(context)] == [schema]
        valid = "SELECT bool_and(i.indisvalid), count(*) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        row = connection.execute(valid + "WHERE c.relnamespace = %s::regnamespace", [schema]).fetchone()
    assert row == (True, len(KEYS) + INDEXES)
    assert count_large(context) == 0


@pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")
def test_maintenance_asset(installation: Installation, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(least: int) -> dict[str, Any]:
        describe(installation.settings, monkeypatch, NEURIGRAPH_NODE_INDEX_RECORDS=str(least))
        with dg.DagsterInstance.ephemeral() as instance:
            result = dg.materialize(
                [node_indexes, layer_packs], instance=instance, resources={"installation": InstallationResource()}
            )
        (event,) = result.asset_materializations_for_node("node_indexes")
        (packed,) = result.asset_materializations_for_node("layer_packs")
        return {name: value.value for name, value in {**event.metadata, **packed.metadata}.items()}

    built = run(LARGE + 1)
    assert (built["nodes indexed"], built["nodes still waiting"], built["nodes packed"]) == (0, 0, 2)
    assert indexes(installation, schema) == KEYS
    built = run(LARGE)
    assert (built["nodes indexed"], built["nodes still waiting"], built["nodes packed"]) == (1, 0, 0)
    assert len(indexes(installation, schema)) == len(KEYS) + INDEXES
