"""Every column, constraint, index and enumeration of the tables that other code relies on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.lifecycle.node_indexes import index_node
from neurigraph_pipelines.model import Role
from neurigraph_pipelines.model.verdicts import Authority
from neurigraph_pipelines.views.kinds import Voice
from neurigraph_pipelines.wiring.installation import Installation

NODE = "bob"
SHARED = "neurigraph"

# The columns of a table; those with ? may be null.
COLUMNS = """
graph_index: node_id uuid, user_id uuid, node_name text, node_type node_type, layer_depth integer
graph_index: parent_node_id uuid?, schema_name text, compression_state compression_state, last_accessed_at timestamptz
graph_index: node_keywords text[]?, node_summary text?, created_at timestamptz, aliases text[], record_count integer
graph_index: centroid vector(1536)?, next_recompress_at timestamptz?, node_ddl_version integer, path uuid[]
metadata_records: record_id uuid, summary text, embedding vector(1536), embedding_pending boolean, kw_entities text[]?
metadata_records: kw_topics text[]?, kw_dates text[]?, kw_relationships text[]?, content_type content_type
metadata_records: trigger_type trigger_type, file_pointer text?, created_at timestamptz, last_accessed_at timestamptz
metadata_records: title text, embedding_model text?, source_kind source_kind, importance real?, source_id uuid
metadata_records: first_message integer, last_message integer, content_hash bytea, tsv tsvector?
metadata_records: occurred_at timestamptz
file_manifest: file_id uuid, record_id uuid, file_name text, file_type file_type, storage_path text
file_manifest: compression_state compression_state, compression_format compression_format, size_bytes bigint
file_manifest: last_accessed_at timestamptz, recompress_after timestamptz?
compression_state_log: log_id uuid, file_id uuid, node_id uuid, event_type compression_event
compression_state_log: triggered_by compression_cause, occurred_at timestamptz, error_detail text?
delta_log: delta_id uuid, record_id uuid, w_coordinate timestamptz, delta_payload jsonb, previous_delta_id uuid?
delta_log: authored_by text, created_at timestamptz
permission_grants: grant_id uuid, subject_id text, subject_type subject_type, target_node_id uuid
permission_grants: grant_type grant_type, grantor_user_id uuid, granted_at timestamptz, expires_at timestamptz?
permission_grants: revoked_at timestamptz?
segments: record_id uuid, user_id uuid, node_id uuid, passages integer, words integer, speakers text[]
segments: languages text[], content bytea, vectors bytea?, model text?, next_vectors bytea?, next_model text?
segments: is_counted boolean
record_index: record_id uuid, node_id uuid, user_id uuid, source_id uuid, source_kind source_kind, content_hash bytea
record_index: created_at timestamptz, content_type content_type?, occurred_at timestamptz?, superseded boolean?
record_index: entity_keys text[], topic_keys text[]
file_index: file_id uuid, record_id uuid, node_id uuid
""".split("\n")[1:-1]

CONSTRAINTS = """
graph_index | PRIMARY KEY (node_id)
graph_index | UNIQUE (schema_name)
graph_index | FOREIGN KEY (user_id) REFERENCES neurigraph.users(user_id)
graph_index | FOREIGN KEY (parent_node_id, user_id) REFERENCES neurigraph.graph_index(node_id, user_id)
graph_index | CHECK (((layer_depth >= 0) AND (layer_depth <= 5)))
graph_index | CHECK (((parent_node_id IS NULL) = (layer_depth = 0)))
metadata_records | PRIMARY KEY (record_id)
file_manifest | PRIMARY KEY (file_id)
file_manifest | FOREIGN KEY (record_id) REFERENCES bob.metadata_records(record_id)
compression_state_log | PRIMARY KEY (log_id)
compression_state_log | FOREIGN KEY (file_id) REFERENCES neurigraph.file_index(file_id)
compression_state_log | FOREIGN KEY (node_id) REFERENCES neurigraph.graph_index(node_id)
delta_log | PRIMARY KEY (delta_id)
delta_log | FOREIGN KEY (record_id) REFERENCES neurigraph.record_index(record_id)
delta_log | FOREIGN KEY (previous_delta_id) REFERENCES neurigraph.delta_log(delta_id)
permission_grants | PRIMARY KEY (grant_id)
permission_grants | FOREIGN KEY (target_node_id, user_id) REFERENCES neurigraph.graph_index(node_id, user_id)
permission_grants | FOREIGN KEY (grantor_user_id) REFERENCES neurigraph.users(user_id)
permission_grants | CHECK ((grantor_user_id = user_id))
record_index | PRIMARY KEY (record_id)
record_index | UNIQUE (user_id, source_id, content_hash)
record_index | FOREIGN KEY (source_id, user_id) REFERENCES neurigraph.sources(source_id, user_id)
file_index | PRIMARY KEY (file_id)
segments | PRIMARY KEY (record_id)
segments | FOREIGN KEY (record_id) REFERENCES neurigraph.record_index(record_id)
segments | FOREIGN KEY (node_id, user_id) REFERENCES neurigraph.graph_index(node_id, user_id)
segments | CHECK (((vectors IS NULL) = (model IS NULL)))
segments | CHECK (((next_vectors IS NULL) = (next_model IS NULL)))
segments | CHECK ((passages > 0))
""".split("\n")[1:-1]

INDEXES = """
graph_index | btree (node_name)
graph_index | btree (user_id)
graph_index | btree (last_accessed_at)
graph_index | btree (parent_node_id)
graph_index | gin (path)
graph_index | UNIQUE btree (user_id) WHERE (layer_depth = 0)
metadata_records | gin (kw_entities, kw_topics, kw_dates, kw_relationships)
metadata_records | gin (tsv) WITH (fastupdate='false')
metadata_records | btree (created_at)
metadata_records | btree (content_type)
metadata_records | btree (title) WHERE (source_kind = 'note'::neurigraph.source_kind)
file_manifest | btree (record_id)
file_manifest | btree (compression_state)
file_manifest | btree (last_accessed_at)
file_manifest | btree (recompress_after)
compression_state_log | btree (file_id)
compression_state_log | btree (node_id)
compression_state_log | btree (event_type)
compression_state_log | btree (occurred_at)
delta_log | btree (record_id)
delta_log | btree (w_coordinate)
permission_grants | btree (subject_id)
permission_grants | btree (target_node_id)
permission_grants | btree (subject_type)
permission_grants | btree (revoked_at)
metadata_records | hnsw (embedding vector_cosine_ops)
segments | btree (node_id)
""".split("\n")[1:-1]

ENUMS = {
    "node_type": ["concept", "persona"],
    "compression_state": ["active", "dormant", "rehydrating"],
    "content_type": ["conversation", "event", "file_upload", "other", "note"],
    "trigger_type": ["conversation_end", "chunk_threshold", "event_boundary"],
    "file_type": ["pdf", "transcript", "image", "video", "audio", "code", "export"],
    "compression_format": ["gzip", "native"],
    "compression_event": ["compressed", "decompressed", "recompressed", "failed", "rehydrating"],
    "compression_cause": ["scheduler", "retrieval", "ttl_expiry", "manual"],
    "subject_type": ["persona", "third_party"],
    "grant_type": ["read", "read_write"],
}


@pytest.fixture(scope="module")
def catalog(shared_installation: Installation) -> Iterator[psycopg.Connection]:
    """The catalog of a database with one node."""
    create_user(shared_installation.database, NODE)
    with shared_installation.database.maintenance() as connection:
        index_node(connection, NODE)
    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as connection:
        yield connection


def _table(name: str) -> str:
    return f"{NODE if name in ('metadata_records', 'file_manifest') else SHARED}.{name}"


@pytest.mark.parametrize("line", COLUMNS)
def test_columns(catalog: psycopg.Connection, line: str) -> None:
    table, columns = line.split(": ")
    found = catalog.execute(
        """SELECT
            a.attname,
            format_type(a.atttypid, a.atttypmod),
            a.attnotnull OR EXISTS (
                SELECT FROM pg_constraint AS c
                WHERE c.conrelid = a.attrelid AND c.conname = 'is_complete' AND a.attnum = ANY(c.conkey)
            )
        FROM pg_attribute AS a
        WHERE a.attrelid = %s::regclass""",
        [_table(table)],
    )
    kinds = set()
    for name, kind, is_full in found:
        short = kind.removeprefix("neurigraph.").replace("timestamp with time zone", "timestamptz")
        kinds.add(f"{name} {short}" + ("" if is_full else "?"))
    assert set(columns.split(", ")) - kinds == set()


@pytest.mark.parametrize("line", CONSTRAINTS)
def test_constraint(catalog: psycopg.Connection, line: str) -> None:
    table, definition = line.split(" | ")
    found = catalog.execute(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass", [_table(table)]
    )
    assert definition in {
        re.sub(" (ON DELETE CASCADE|DEFERRABLE INITIALLY DEFERRED)$", "", str(row[0])) for row in found
    }


@pytest.mark.parametrize("line", INDEXES)
def test_index(catalog: psycopg.Connection, line: str) -> None:
    table, definition = line.split(" | ")
    found = catalog.execute(
        "SELECT indisunique, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass", [_table(table)]
    )
    assert definition in {("UNIQUE " if unique else "") + text.partition(" USING ")[2] for unique, text in found}


@pytest.mark.parametrize("name", ENUMS)
def test_enum(catalog: psycopg.Connection, name: str) -> None:
    query = sql.SQL("SELECT enum_range(NULL::neurigraph.{})::text[]").format(sql.Identifier(name))
    assert catalog.execute(query).fetchone() == (ENUMS[name],)


@pytest.mark.parametrize(
    ("name", "values"),
    [("voice", list(Voice)), ("message_role", list(Role)), ("authority", [a.name.lower() for a in Authority])],
)
def test_numbers_of_an_enum_follow_its_order(catalog: psycopg.Connection, name: str, values: list[str]) -> None:
    query = sql.SQL("SELECT enum_range(NULL::neurigraph.{})::text[]").format(sql.Identifier(name))
    assert catalog.execute(query).fetchone() == (values,)


@pytest.mark.parametrize("table", ["metadata_records", "file_manifest"])
def test_rows_of_nodes_are_complete(catalog: psycopg.Connection, table: str) -> None:
    definition = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s"
    row = catalog.execute(definition, [_table(table), "is_complete"]).fetchone()
    assert row is not None
    assert re.fullmatch(r"CHECK \(\(num_nulls\([a-z0-9_, ]+\) = 0\)\)", row[0])


@pytest.mark.parametrize(
    ("column", "storage"),
    [
        ("metadata_records.embedding", "p"),
        *((f"segments.{name}", "e") for name in ("content", "vectors", "next_vectors")),
    ],
)
def test_vectors_are_not_compressed(catalog: psycopg.Connection, column: str, storage: str) -> None:
    table, _, name = column.partition(".")
    found = catalog.execute(
        "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s", [_table(table), name]
    )
    assert found.fetchone() == (storage,)


def test_pending_is_false_by_default(catalog: psycopg.Connection) -> None:
    found = catalog.execute(
        """SELECT column_default FROM information_schema.columns
        WHERE table_schema = %s AND table_name = 'metadata_records' AND column_name = 'embedding_pending'""",
        [NODE],
    )
    assert found.fetchone() == ("false",)


@pytest.mark.parametrize("table", ["compression_state_log", "delta_log"])
def test_logs_are_append_only_even_for_a_superuser(catalog: psycopg.Connection, table: str) -> None:
    truncate = sql.SQL("TRUNCATE neurigraph.{} CASCADE").format(sql.Identifier(table))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"{table} is append-only"):
        catalog.execute(truncate)
