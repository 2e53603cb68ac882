"""Attacks by direct SQL: Alice runs SQL as the agent's role, after an injection or with a stolen password.

She has valid claims of her own. She tries to act as another user, to read foreign rows, and to leave objects behind.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.ports import Transaction
from tests.conftest import ROOT, SECRET
from tests.support.memories import schemas_of
from tests.support.two_users import World

pytestmark = pytest.mark.attack


def rows(connection: Transaction, statement: str, *values: object) -> list[dict[str, Any]]:
    """Return the rows of a statement, or none if it has no result."""
    done = connection.execute(sql.SQL(statement), values)
    return done.fetchall() if done.description is not None else []


def bobs(world: World, table: str = "metadata_records") -> sql.Identifier:
    """One of Bob's tables, with rows in it."""
    return sql.Identifier(schemas_of(world.installation, world.bob)["Family/Dave"], table)


# Becoming somebody else


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE neurigraph_owner",
        "SET ROLE neurigraph_pipeline",
        "SET LOCAL ROLE neurigraph_owner",
        "SELECT set_config('role', 'neurigraph_owner', false)",
        "SET SESSION AUTHORIZATION neurigraph_pipeline",
        "SELECT set_config('session_authorization', 'neurigraph_owner', false)",
        "GRANT neurigraph_owner TO neurigraph_agent",
        "ALTER ROLE neurigraph_agent BYPASSRLS",
        "ALTER ROLE neurigraph_agent SUPERUSER",
        "ALTER ROLE neurigraph_pipeline PASSWORD 'mine'",
        "CREATE ROLE mallory LOGIN",
        "ALTER DEFAULT PRIVILEGES FOR ROLE neurigraph_owner GRANT SELECT ON TABLES TO PUBLIC",
        "REASSIGN OWNED BY neurigraph_owner TO neurigraph_agent",
        "DROP OWNED BY neurigraph_owner",
        "SET session_replication_role = replica",
    ],
)
def test_taking_another_role(agent: Transaction, statement: str) -> None:
    with pytest.raises((InsufficientPrivilege, psycopg.errors.InvalidParameterValue)):
        rows(agent, statement)


@pytest.mark.parametrize("name", ["request.jwt.claims", "request.jwt.claim.sub", "request.claims"])
def test_setting_claims_of_another_user(world: World, agent: Transaction, name: str) -> None:
    rows(agent, "SELECT set_config(%s, %s, false)", name, Secret(SECRET).sign(world.bobs)[0])
    assert rows(agent, "SELECT FROM neurigraph.graph_index WHERE user_id = %s", world.bob.user_id) == []
    assert agent.execute(sql.SQL("SELECT FROM {}").format(bobs(world))).fetchall() == []


def test_setting_claims_inside_a_function(world: World, agent: Transaction) -> None:
    """Change the claims within a statement, before or after its policies run."""
    payload = Secret(SECRET).sign(world.bobs)[0]
    agent.execute(
        sql.SQL(
            "CREATE FUNCTION pg_temp.as_bob() RETURNS boolean LANGUAGE sql VOLATILE AS "
            "$$ SELECT set_config('request.jwt.claims', {}, false) IS NOT NULL $$"
        ).format(payload)
    )
    statement = "SELECT g.user_id FROM neurigraph.graph_index AS g WHERE pg_temp.as_bob() OR g.user_id = %s"
    for _ in range(2):
        assert world.bob.user_id not in {row["user_id"] for row in rows(agent, statement, world.bob.user_id)}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM neurigraph_private.claims_key",
        "SELECT query_to_xml('SELECT * FROM neurigraph_private.claims_key', true, true, '')",
        "SELECT table_to_xml('neurigraph_private.claims_key', true, true, '')",
        "SELECT schema_to_xml('neurigraph_private', true, true, '')",
        "COPY neurigraph_private.claims_key TO STDOUT",
        "EXPLAIN SELECT * FROM neurigraph_private.claims_key",
        "DO $$ BEGIN PERFORM inner_pad FROM neurigraph_private.claims_key; END $$",
        "CREATE TEMP VIEW v AS SELECT * FROM neurigraph_private.claims_key",
        "SELECT neurigraph_private.reach('{}', 'read')",
    ],
)
def test_reading_the_signing_key(agent: Transaction, statement: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        rows(agent, statement)


def test_function_source_holds_no_key(world: World, agent: Transaction) -> None:
    inner, outer = Secret(SECRET).claims_pads()
    passwords = [Secret(SECRET).role_password(role) for role in ("neurigraph_pipeline", "neurigraph_agent")]
    text = "".join(row["prosrc"] for row in rows(agent, "SELECT prosrc FROM pg_proc"))
    assert "neurigraph_private.claims_key" in text
    for hidden in (inner.hex(), outer.hex(), SECRET, *passwords):
        assert hidden not in text


def test_reading_signatures_of_other_sessions(world: World, agent: Transaction) -> None:
    """The agent's role sees its own sessions' statements, but not the bound values."""
    with world.installation.database.agent(world.bobs) as tx:
        claimed = rows(
            tx, "SELECT current_setting('neurigraph.claims_signature') AS signature, pg_backend_pid() AS pid"
        )
        (bobs_session,) = claimed
        seen = rows(agent, "SELECT query FROM pg_stat_activity WHERE pid = %s", bobs_session["pid"])
    assert seen
    everything = str(rows(agent, "SELECT * FROM pg_stat_activity"))
    assert bobs_session["signature"] not in everything
    assert str(world.bob.user_id) not in everything


# Reading what is not hers


def test_reading_foreign_tables_by_name(world: World, agent: Transaction) -> None:
    for schema in schemas_of(world.installation, world.bob).values():
        for table in ("metadata_records", "file_manifest"):
            found = agent.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier(schema, table))).fetchall()
            assert found == []
    own = agent.execute("SELECT user_id FROM neurigraph.segments").fetchall()
    assert {row["user_id"] for row in own} == {world.alice.user_id}


def test_leaking_function_in_the_planner(world: World, agent: Transaction) -> None:
    """The planner evaluates cheap functions first, but never before a policy."""
    heard: list[str | None] = []
    agent.add_notice_handler(lambda said: heard.append(said.message_primary))
    agent.execute(
        "CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000000000000000000001 AS "
        "$$ BEGIN RAISE NOTICE 'leaked: %', $1; RETURN true; END $$"
    )
    for table, column in ((bobs(world), "title"), (sql.Identifier("neurigraph", "graph_index"), "node_name")):
        agent.execute(sql.SQL("SELECT FROM {} WHERE pg_temp.leak({})").format(table, sql.Identifier(column)))
    assert any("alice" in (one or "") for one in heard), "her own are heard"
    assert not [one for one in heard if one and ("Dave" in one or "bob" in one)]


def test_errors_reveal_no_value(world: World, agent: Transaction) -> None:
    """A cast that fails quotes what it could not cast."""
    agent.execute(sql.SQL("SELECT title::integer FROM {}").format(bobs(world))).fetchall()
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as refusals:
        agent.execute("SELECT slug::integer FROM neurigraph.users").fetchall()
    assert "alice" in str(refusals.value)


def test_division_by_zero_reveals_no_value(world: World, agent: Transaction) -> None:
    statement = sql.SQL("SELECT 1 / (CASE WHEN title LIKE '%' THEN 0 ELSE 1 END) FROM {}").format(bobs(world))
    assert agent.execute(statement).fetchall() == []


def test_join_into_foreign_node(world: World, agent: Transaction) -> None:
    statement = sql.SQL(
        "SELECT r.title FROM neurigraph.graph_index AS g LEFT JOIN {} AS r ON true WHERE r.record_id IS NOT NULL"
    ).format(bobs(world))
    assert agent.execute(statement).fetchall() == []


def test_reading_foreign_table_statistics(world: World, agent: Transaction) -> None:
    with world.installation.database.maintenance() as owner:
        owner.execute(sql.SQL("ANALYZE {}").format(bobs(world)))
    schema = schemas_of(world.installation, world.bob)["Family/Dave"]
    assert rows(agent, "SELECT FROM pg_stats WHERE schemaname = %s", schema) == []
    assert rows(agent, "SELECT FROM pg_stats_ext WHERE schemaname = %s", schema) == []
    with pytest.raises(InsufficientPrivilege):
        rows(agent, "SELECT * FROM pg_statistic")


@pytest.mark.parametrize("table", ["permission_grants", "messages"])
def test_probing_ids_by_foreign_key(world: World, agent: Transaction, table: str) -> None:
    """Postgres checks references past row-level security: what does not exist and what is hidden must look the same."""
    statement, mine, theirs = {
        "permission_grants": (
            "INSERT INTO neurigraph.permission_grants "
            "(user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id) "
            "VALUES (%(user)s, 'probe', 'third_party', %(id)s, 'read', %(user)s)",
            world.alice.root_node_id,
            world.bob.root_node_id,
        ),
        "messages": (
            "INSERT INTO neurigraph.messages "
            "(source_id, user_id, seq, role, content, token_count, content_hash, occurred_at, external_id, key_id, "
            "persona_id, received_through) VALUES (%(id)s, %(user)s, 99, 'user', 'x', 1, sha256('x'), now(), 'probe', "
            "neurigraph.asking_key(), neurigraph.writing_persona(), neurigraph.asking_door())",
            world.alices_source,
            world.bobs_source,
        ),
    }[table]
    refusals = []
    for wanted in (theirs, uuid4()):
        with pytest.raises(psycopg.IntegrityError) as caught:
            agent.execute(sql.SQL(statement), {"user": world.alice.user_id, "id": wanted})
        refusals.append((type(caught.value), str(caught.value).replace(str(wanted), "ID")))
    assert refusals[0] == refusals[1]
    with agent.transaction(force_rollback=True):
        assert agent.execute(sql.SQL(statement), {"user": world.alice.user_id, "id": mine}).rowcount == 1


def test_probing_external_ids_by_unique_index(world: World, agent: Transaction) -> None:
    with world.installation.database.agent(world.bobs) as tx:
        (theirs, *_) = rows(tx, "SELECT external_id FROM neurigraph.sources WHERE external_id <> 'unfinished'")
    statement = (
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, title, started_at) "
        "VALUES (%s, 'conversation', %s, '', now()) RETURNING external_id"
    )
    assert rows(agent, statement, world.alice.user_id, theirs["external_id"]) == [theirs], "no conflict tells of it"


def test_turning_row_security_off(agent: Transaction) -> None:
    rows(agent, "SET row_security = off")
    with pytest.raises(InsufficientPrivilege):
        rows(agent, "SELECT * FROM neurigraph.graph_index")


def test_copy_obeys_policies(world: World, agent: Transaction) -> None:
    for statement in ("COPY (SELECT title FROM {}) TO STDOUT", "COPY {} TO STDOUT"):
        with agent.cursor().copy(sql.SQL(statement).format(bobs(world))) as copy:
            assert b"".join(copy) == b""


# Putting something in the way of our functions


def test_shadowing_database_objects(world: World, agent: Transaction) -> None:
    bob = str(world.bob.user_id)
    for statement in (
        f"CREATE TEMP TABLE graph_index AS SELECT '{bob}'::uuid AS user_id",
        f"CREATE TEMP VIEW users AS SELECT '{bob}'::uuid AS user_id, 'bob' AS slug",
        "CREATE DOMAIN pg_temp.uuid AS text",
        "CREATE DOMAIN pg_temp.jsonb AS text",
        f"CREATE FUNCTION pg_temp.claims() RETURNS jsonb LANGUAGE sql AS "
        f"$$ SELECT jsonb_build_object('role', 'user', 'user_id', '{bob}') $$",
        f"CREATE FUNCTION pg_temp.asking_user_id() RETURNS uuid LANGUAGE sql AS $$ SELECT '{bob}'::pg_catalog.uuid $$",
        "CREATE FUNCTION pg_temp.may_read_node(uuid) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        f"CREATE FUNCTION pg_temp.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT '{bob}' $$",
        "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$",
        "CREATE FUNCTION pg_temp.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
        "CREATE OPERATOR pg_temp.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.same)",
        "SET search_path = pg_temp, neurigraph, pg_catalog",
    ):
        with suppress(psycopg.Error):  # what cannot even be made does no harm
            rows(agent, statement)
    assert rows(agent, "SELECT FROM neurigraph.users WHERE slug = 'bob'") == []
    assert rows(agent, "SELECT FROM neurigraph.graph_index WHERE node_name = 'bob'") == []
    assert agent.execute(sql.SQL("SELECT FROM {}").format(bobs(world))).fetchall() == []
    assert len(rows(agent, "SELECT FROM neurigraph.users")) == 1, "her own policies go on working"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE OR REPLACE FUNCTION neurigraph.claims() RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'",
        "CREATE FUNCTION neurigraph.lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE FUNCTION public.sneak() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE public.mine (id integer)",
        "CREATE TABLE neurigraph.mine (id integer)",
        "CREATE SCHEMA mine",
        "ALTER FUNCTION neurigraph.claims() OWNER TO neurigraph_agent",
        "ALTER FUNCTION neurigraph.may_read_node(uuid) RESET ALL",
        "DROP FUNCTION neurigraph.claims() CASCADE",
        "ALTER TABLE neurigraph.graph_index DISABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON neurigraph.graph_index USING (true)",
        "CREATE TRIGGER mine BEFORE INSERT ON neurigraph.messages EXECUTE FUNCTION neurigraph.register_record()",
        "CREATE RULE mine AS ON SELECT TO neurigraph.users DO INSTEAD SELECT 1",
        "CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION neurigraph.register_record()",
        "CREATE EXTENSION dblink",
        "CREATE EXTENSION plperlu",
        "CREATE FUNCTION pg_temp.c() RETURNS integer LANGUAGE c AS 'libc.so.6', 'getpid'",
        "CREATE CAST (text AS uuid) WITH INOUT AS IMPLICIT",
        "COMMENT ON TABLE neurigraph.users IS 'mine'",
        "ALTER DATABASE postgres SET search_path = pg_temp",
        "ALTER SYSTEM SET log_statement = 'all'",
    ],
)
def test_creating_or_altering_objects(agent: Transaction, statement: str) -> None:
    with pytest.raises((InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):  # the latter: not installed here
        rows(agent, statement)


def test_definer_function_as_own_trigger(agent: Transaction) -> None:
    agent.execute("CREATE TEMP TABLE records (record_id uuid)")
    with pytest.raises(InsufficientPrivilege):
        agent.execute(
            "CREATE TRIGGER register AFTER INSERT ON records FOR EACH ROW "
            "EXECUTE FUNCTION neurigraph.register_record('a', 'b')"
        )


# Leaving something behind


def test_migrate_resets_role_defaults(world: World) -> None:
    """A role may change its own settings; the next `migrate` resets both."""
    with world.agent() as connection:
        for statement in (
            "ALTER ROLE neurigraph_agent SET default_transaction_read_only = on",
            "ALTER ROLE neurigraph_agent SET statement_timeout = 1",
            "ALTER ROLE neurigraph_agent PASSWORD 'mine'",
        ):
            rows(connection, statement)
        connection.commit()
    world.installation.migrate()
    with world.agent() as connection:
        assert rows(connection, "SHOW default_transaction_read_only") == [{"default_transaction_read_only": "off"}]
        assert rows(connection, "SHOW statement_timeout") == [{"statement_timeout": "0"}]


def test_notifications_of_other_sessions(world: World, agent: Transaction) -> None:
    """The project announces nothing on notification channels, which any role may listen to."""
    announcing = rows(agent, "SELECT p.oid::regprocedure::text AS name FROM pg_proc AS p WHERE p.prosrc ~* 'notify'")
    assert [row["name"] for row in announcing if row["name"].startswith("neurigraph")] == []
    texts = [
        *(ROOT / "sql").rglob("*.sql"),
        *(ROOT / "neurigraph_pipelines").rglob("*.py"),
        *(ROOT / "resources").rglob("*.py"),
    ]
    assert len(texts) > 100
    assert [
        path for path in texts if re.search(r"pg_notify|^\s*NOTIFY\b", path.read_text(encoding="utf-8"), re.M)
    ] == []


def test_inserting_rows_for_another_user(world: World, agent: Transaction) -> None:
    with pytest.raises(InsufficientPrivilege):
        rows(
            agent,
            "INSERT INTO neurigraph.sources (user_id, kind, external_id, title, started_at) "
            "VALUES (%s, 'conversation', 'planted', '', now())",
            world.bob.user_id,
        )
    own = (
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, title, started_at) "
        "VALUES (%s, 'conversation', 'own', '', now())"
    )
    with agent.transaction(force_rollback=True):
        assert agent.execute(sql.SQL(own), [world.alice.user_id]).rowcount == 1


def test_replacing_a_complete_message(world: World, agent: Transaction) -> None:
    """What was said stays as it was said, also for its owner: only a message that streams in changes."""
    agent.execute("BEGIN")
    insert = """INSERT INTO neurigraph.messages
        (source_id, user_id, seq, role, token_count, content_hash, occurred_at, external_id, complete, received_through)
        VALUES (%s, %s, %s, 'user', 1, sha256(''), now(), %s, %s, neurigraph.asking_door())"""
    for seq, complete in ((900, True), (901, False)):
        rows(agent, insert, world.alices_source, world.alice.user_id, seq, str(seq), complete)
    changed = rows(
        agent,
        "UPDATE neurigraph.messages SET content = 'another' WHERE source_id = %s RETURNING seq",
        world.alices_source,
    )
    agent.execute("ROLLBACK")
    assert changed == [{"seq": 901}]
