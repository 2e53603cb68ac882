"""The search functions with definer's rights reveal nothing beyond the caller's claims."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_row_level_security import claim, sign
from tests.support.memories import rows, schemas_of
from tests.support.two_users import World, new_world
from tests.support.waiting import wait_until

CLAIMS = "current_setting('request.jwt.claims', true), current_setting('neurigraph.claims_signature', true)"
VERSION = f"SELECT neurigraph.data_version({CLAIMS}) AS version"
SEARCH_GATE = (
    f"SELECT * FROM neurigraph.search_gate({CLAIMS}, %(stems)s, %(speaker)s, %(dimensions)s, %(known_version)s)"
)
LAYERS = "SELECT * FROM neurigraph.layers(%(nodes)s::uuid [], ARRAY[]::bigint [], NULL, %(model)s, %(dimensions)s)"
VECTORS = "SELECT * FROM neurigraph.vectors(%(records)s::uuid [], %(passages)s::text [], %(model)s)"
WORDS = "SELECT * FROM neurigraph.node_words(%s::uuid [], 1)"
DEFINERS = ("search_gate", "layers", "vectors", "node_words", "stage", "staged", "data_version")
NOTHING = hashlib.md5(b"", usedforsecurity=False).hexdigest()
OWNERS_TABLES = (
    "node_statistics",
    "user_changes",
    "node_changes",
    "record_changes",
    "layer_packs",
)


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    return new_world(shared_installation)


def asked(**more: Any) -> dict[str, Any]:
    """A question as the database is asked it."""
    return {
        "stems": ["meet", "dave"],
        "speaker": None,
        "model": "words",
        "dimensions": 512,
        "known_version": None,
    } | more


def nodes_of(world: World, user_id: UUID) -> list[UUID]:
    query = "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s"
    return [row["node_id"] for row in rows(world.installation, query, user_id)]


def bobs_nodes(world: World) -> list[UUID]:
    return nodes_of(world, world.bob.user_id)


def alices_nodes(world: World) -> list[UUID]:
    return nodes_of(world, world.alice.user_id)


def alices_records(world: World) -> list[UUID]:
    query = "SELECT record_id FROM neurigraph.segments WHERE user_id = %s"
    return [row["record_id"] for row in rows(world.installation, query, world.alice.user_id)]


def found(connection: psycopg.Connection[Any], question: dict[str, Any]) -> Any:
    """Return the evidence for a question and every layer it can load, or None if the claims open nothing."""
    row = connection.execute(SEARCH_GATE, question, binary=True).fetchone()
    if row is None or row["node_ids"] is None:
        return None
    nodes = [UUID(bytes=bytes(row["node_ids"][start : start + 16])) for start in range(0, len(row["node_ids"]), 16)]
    layers = connection.execute(LAYERS, question | {"nodes": nodes}).fetchall()
    return row | {"nodes": nodes, "layers": layers, "words": connection.execute(WORDS, [nodes]).fetchall()}


def as_text(answer: Any) -> str:
    """An answer of ``found``, its ids in both of their forms."""
    return json.dumps(answer, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))


def test_search_reads_own_nodes_only(world: World) -> None:
    payload = claim(world)
    bobs = {form for one in (world.bob.root_node_id, world.bob.user_id) for form in (str(one), one.hex)}
    with world.agent(payload, sign(payload)) as connection:
        answer = found(connection, asked())
        text = as_text(answer)
        assert "Ana" in text
        assert world.alice.root_node_id.hex in text
        assert "I met Dave" not in text
        assert not any(one in text for one in bobs)
        of_bob = bobs_nodes(world)
        assert connection.execute(LAYERS, asked(nodes=of_bob)).fetchall() == []
        assert connection.execute(WORDS, [of_bob]).fetchall() == []
        assert connection.execute("SELECT * FROM neurigraph.stage(%s, 1800)", [of_bob]).fetchall() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 0},
        {"role": "persona"},
        {"role": "third_party"},
        {"role": None},
        {"user_id": None},
        {"user_id": str(uuid4())},
    ],
)
def test_claims_without_access_find_nothing(world: World, changes: dict[str, object]) -> None:
    payload = claim(world, **changes)
    for signature in (sign(payload), None):
        with world.agent(payload, signature) as connection:
            assert found(connection, asked()) is None
            (version,) = connection.execute(VERSION).fetchall()
            assert version["version"] in (None, NOTHING)
            assert connection.execute("SELECT * FROM neurigraph.staged(50)").fetchall() == []
            assert connection.execute(LAYERS, asked(nodes=alices_nodes(world))).fetchall() == []
            assert connection.execute(WORDS, [alices_nodes(world)]).fetchall() == []
            everything = {"records": alices_records(world), "passages": [None]}
            assert connection.execute(VECTORS, asked(**everything)).fetchall() == []
            assert (
                connection.execute("SELECT * FROM neurigraph.stage(%s, 60)", [[world.alice.root_node_id]]).fetchall()
                == []
            )


def test_forged_claims_find_nothing(world: World) -> None:
    payload = claim(world)
    others = claim(world, user_id=str(world.bob.user_id))
    for said, signature in [(payload, None), (others, sign(payload)), (payload, "0" * 64), (None, None)]:
        with world.agent(said, signature) as connection:
            assert found(connection, asked()) is None
            assert connection.execute(VERSION).fetchone() == {"version": None}


def test_question_carries_no_claims_or_sql(world: World) -> None:
    payload = claim(world)
    (schema, *_) = schemas_of(world.installation, world.bob).values()
    hostile = "'; DROP TABLE neurigraph.users; -- %I %s $1 {}"
    with world.agent(payload, sign(payload)) as connection:
        further: list[dict[str, Any]] = [
            {"asking": {"role": "user", "user_id": str(world.bob.user_id)}, "is_moving": True},
            {"schema_name": schema, "nodes": [str(world.bob.root_node_id)], "data_version": hostile},
            {"stems": [hostile, "", "\\", "'"], "speaker": hostile, "known_version": hostile, "model": hostile},
            {"stems": []},
        ]
        for more in further:
            answer = found(connection, asked(**more))
            assert "I met Dave" not in as_text(answer)
        assert connection.execute("SELECT count(*) AS n FROM neurigraph.users").fetchone() == {"n": 1}


def test_places_of_vectors_are_bound_values(world: World) -> None:
    """Nothing is read beyond the vectors of the record that is asked for."""
    payload = claim(world)
    (record, *_) = alices_records(world)
    with world.agent(payload, sign(payload)) as connection:

        def read(passages: str | None, model: str = "words") -> list[bytes]:
            question = {"records": [record], "passages": [passages], "model": model}
            return [row["vectors"] for row in connection.execute(VECTORS, question).fetchall()]

        (whole,) = read(None)
        assert b"".join(read("1 2 3")) == whole
        for beyond in ("0", "-1", "4", "1000"):
            assert {len(one) for one in read(beyond)} <= {0}, beyond
        assert read(None, "'; DROP TABLE neurigraph.users; --") == []
        for hostile in ("1); DROP TABLE neurigraph.users; --", "1.5", "99999999999", "2000000000"):
            with pytest.raises(psycopg.DataError), connection.transaction():
                read(hostile)
        assert connection.execute("SELECT count(*) AS n FROM neurigraph.users").fetchone() == {"n": 1}


def test_callers_search_path_is_ignored(world: World) -> None:
    payload = claim(world)
    with world.agent(payload, sign(payload)) as connection:
        plain = found(connection, asked())
        for table in ("graph_index", "users", "segments", "node_statistics", "layer_packs", "node_edges", "unnest"):
            connection.execute(sql.SQL("CREATE TEMP TABLE {} (a int)").format(sql.Identifier(table)))
        connection.execute("CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS 'SELECT null::text'")
        connection.execute("CREATE FUNCTION pg_temp.claims() RETURNS jsonb LANGUAGE sql AS 'SELECT null::jsonb'")
        connection.execute("SET search_path = pg_temp, neurigraph, public, pg_catalog")
        again = found(connection, asked())
    assert plain["nodes"]
    for answer in (plain, again):
        for layer in answer["layers"]:
            del layer["horizon"]  # the oldest running transaction of the whole server
    assert again == plain


def test_agent_calls_only_the_gate(world: World) -> None:
    payload = claim(world)
    with world.agent(payload, sign(payload)) as connection:
        for table in OWNERS_TABLES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(sql.SQL("SELECT * FROM neurigraph.{}").format(sql.Identifier(table)))
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SET ROLE neurigraph_owner")
        functions = connection.execute(
            "SELECT p.oid::regprocedure::text AS name, n.nspname = 'neurigraph_private' AS private, p.proname, "
            "has_function_privilege('neurigraph_agent', p.oid, 'EXECUTE') AND "
            "has_schema_privilege('neurigraph_agent', n.oid, 'USAGE') AS may "
            "FROM pg_proc AS p JOIN pg_namespace AS n ON p.pronamespace = n.oid "
            "WHERE n.nspname IN ('neurigraph', 'neurigraph_private')"
        ).fetchall()
    assert [row["name"] for row in functions if row["private"] and row["may"]] == []
    assert {row["proname"] for row in functions if row["may"]} >= set(DEFINERS)
    assert "visible_nodes" not in {row["proname"] for row in functions if row["may"]}


def test_every_definer_function_pins_its_search_path(world: World) -> None:
    with psycopg.connect(world.installation.administrator_url) as connection:
        loose = connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc AS p JOIN pg_namespace AS n ON p.pronamespace = n.oid "
            "WHERE n.nspname IN ('neurigraph', 'neurigraph_private') AND p.prosecdef "
            "AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY(p.proconfig), false)"
        ).fetchall()
    assert loose == []


def test_claims_are_checked_per_search(world: World) -> None:
    payload = claim(world, exp=time.time() + 1.0)
    with world.agent(payload, sign(payload)) as connection:
        assert found(connection, asked()) is not None
        wait_until(lambda: found(connection, asked()) is None, "the claims expire")
