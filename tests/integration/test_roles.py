"""What the database roles cannot do, with any SQL."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from neurigraph_pipelines.database.migrations import LOGIN_ROLES
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import dagster_database
from resources.postgres.database import url_for_role
from tests.conftest import SECRET
from tests.support.two_users import OWNERS_OWN, World, new_world

EVERY_RIGHT = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER"


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    return new_world(shared_installation)


FORBIDDEN_TO_AGENTS = [
    "SELECT key_hash FROM neurigraph.api_keys",
    "SET ROLE neurigraph_owner",
    "SET ROLE neurigraph_pipeline",
    "SET SESSION AUTHORIZATION neurigraph_owner",
    "SELECT * FROM neurigraph_private.claims_key",
    "SELECT * FROM neurigraph.api_keys",
    "SELECT * FROM neurigraph.schema_migrations",
    "SELECT * FROM pg_catalog.pg_authid",
    "CREATE TABLE neurigraph.mine (id integer)",
    "CREATE TABLE public.mine (id integer)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION neurigraph.claims() RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'",
    "CREATE OR REPLACE FUNCTION public.sneak() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER TABLE neurigraph.graph_index DISABLE ROW LEVEL SECURITY",
    "DROP POLICY own_rows ON neurigraph.graph_index",
    "ALTER ROLE neurigraph_agent BYPASSRLS",
    "GRANT neurigraph_owner TO neurigraph_agent",
    "DELETE FROM neurigraph.graph_index",
    "DELETE FROM neurigraph.sources",
    "DELETE FROM neurigraph.messages",
    "UPDATE neurigraph.messages SET seq = 1",
    "UPDATE neurigraph.graph_index SET node_name = ''",
    "UPDATE neurigraph.sources SET user_id = user_id",
    "UPDATE neurigraph.storage_triggers SET state = 'stored'",
    "INSERT INTO neurigraph.users (slug) VALUES ('mallory')",
    "INSERT INTO neurigraph.permission_grants SELECT * FROM neurigraph.permission_grants",
    "SELECT neurigraph.register_record()",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('/etc/passwd')",
]
FORBIDDEN_TO_ALL = [
    f"{what} neurigraph.{table}{rest}"
    for table in ("delta_log", "compression_state_log")
    for what, rest in (("DELETE FROM", ""), ("UPDATE", " SET user_id = user_id"), ("TRUNCATE", " CASCADE"))
]


@pytest.mark.parametrize("statement", [*FORBIDDEN_TO_AGENTS, *FORBIDDEN_TO_ALL])
def test_agent_cannot(world: World, statement: str) -> None:
    with (
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue)),
        world.installation.database.agent(world.alices) as tx,
    ):
        tx.execute(sql.SQL(statement))


def test_agent_cannot_change_complete_messages(world: World) -> None:
    with world.installation.database.agent(world.alices) as tx:
        assert tx.execute("UPDATE neurigraph.messages SET content = ''").rowcount == 0


@pytest.mark.parametrize(
    "statement",
    [
        *FORBIDDEN_TO_ALL,
        "SELECT * FROM neurigraph_private.claims_key",
        "SELECT * FROM neurigraph.api_keys",
        "CREATE SCHEMA mine",
        "DELETE FROM neurigraph.graph_index",
        "DELETE FROM neurigraph.users",
        "ALTER TABLE neurigraph.graph_index DISABLE ROW LEVEL SECURITY",
    ],
)
def test_pipeline_cannot(world: World, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), world.installation.database.pipeline() as tx:
        tx.execute(sql.SQL(statement))


@pytest.mark.parametrize("statement", FORBIDDEN_TO_ALL)
def test_owner_needs_erasing_flag(world: World, statement: str) -> None:
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"),
        world.installation.database.owner() as tx,
    ):
        tx.execute(sql.SQL(statement))


def test_erasing_flag_helps_only_owner(world: World) -> None:
    delete = "DELETE FROM neurigraph.delta_log"
    for role in (world.installation.database.pipeline(), world.installation.database.agent(world.alices)):
        with role as tx:
            tx.execute("SET LOCAL neurigraph.erasing = on")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                tx.execute(delete)
            tx.rollback()
    with world.installation.database.owner() as tx:
        tx.execute("SET LOCAL neurigraph.erasing = on")
        assert tx.execute(delete).rowcount > 0
        tx.rollback()


def test_row_security_off_gives_errors(world: World) -> None:
    with world.installation.database.agent(world.alices) as tx:
        tx.execute("SET LOCAL row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            tx.execute("SELECT count(*) FROM neurigraph.graph_index")
        tx.rollback()


@pytest.mark.parametrize("role", LOGIN_ROLES)
def test_roles_are_unprivileged(world: World, role: str) -> None:
    with psycopg.connect(world.installation.administrator_url, row_factory=dict_row) as connection:
        row = connection.execute("SELECT * FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    assert row is not None
    assert not any(
        row[right] for right in ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls")
    )
    assert not row["rolinherit"]


def test_dagster_role_sees_nothing(world: World) -> None:
    url = url_for_role(world.installation.administrator_url, "neurigraph_dagster", Secret(SECRET))
    for statement in ("SELECT * FROM neurigraph.users", "SELECT * FROM neurigraph_private.claims_key"):
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql.SQL(statement))


def test_owner_tables_have_no_grants(world: World) -> None:
    with psycopg.connect(world.installation.administrator_url) as connection:
        for table in OWNERS_OWN:
            for role in (*LOGIN_ROLES, "public"):
                rights = connection.execute(
                    "SELECT has_table_privilege(%s, %s, %s)", [role, f"neurigraph.{table}", EVERY_RIGHT]
                ).fetchone()
                assert rights == (False,)


def test_analyst_counts_rows_of_all_users(world: World) -> None:
    counted = "SELECT slug, count(*) FROM record_index INNER JOIN users USING (user_id) GROUP BY slug"
    with psycopg.connect(world.installation.analyst_address) as connection:
        assert dict(connection.execute(sql.SQL(counted)).fetchall()) == {"alice": 1, "bob": 1}
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TEMP TABLE mine (id integer)")


def test_only_dagster_connects_to_its_database(world: World, administrator: psycopg.Connection) -> None:
    here = world.installation
    here.ensure_dagster_database()
    name = dagster_database(here.administrator_url)
    for role in LOGIN_ROLES:
        url = url_for_role(make_conninfo(here.administrator_url, dbname=name), role, Secret(SECRET))
        if role == "neurigraph_dagster":
            with psycopg.connect(url) as connection:
                connection.execute("CREATE TABLE runs (id integer)")
        else:
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                psycopg.connect(url)
    granted = "SELECT has_database_privilege('public', %s, 'CONNECT'), has_database_privilege('public', %s, 'TEMP')"
    assert administrator.execute(granted, [name, name]).fetchone() == (False, False)
