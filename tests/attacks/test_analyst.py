"""Attacks by somebody who has the address of `neurigraph admin analyst-url`."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row

from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.model.ports import Transaction
from tests.support.failed_segments import fail
from tests.support.memories import plain_context
from tests.support.two_users import World

pytestmark = pytest.mark.attack

READABLE = {
    *("users", "graph_index", "sources", "record_index", "file_index", "storage_triggers", "pipeline_failures"),
    "facts",
}
WORDS = ("Family", "Ana", "Dave", "nice", "sister", "finished", "refused")  # of the two users, and of an error


@pytest.fixture
def analyst(world: World) -> Iterator[Transaction]:
    with psycopg.connect(world.installation.analyst_address, row_factory=dict_row, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")  # anybody may
        yield connection


def test_analyst_reads_no_words(world: World, analyst: Transaction) -> None:
    read_waiting(plain_context(world.installation))
    fail(world.installation, world.bob, "broken")
    columns = analyst.execute(
        "SELECT n.nspname AS schema, c.relname AS name, array_agg(a.attname::text) AS columns "
        "FROM pg_attribute AS a INNER JOIN pg_class AS c ON a.attrelid = c.oid "
        "INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid "
        "WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') GROUP BY n.nspname, c.relname"
    ).fetchall()
    assert {(one["schema"], one["name"]) for one in columns} == {("neurigraph", name) for name in READABLE}
    for one in columns:
        chosen = sql.SQL(", ").join(map(sql.Identifier, one["columns"]))
        table = sql.Identifier(one["schema"], one["name"])
        seen = str(analyst.execute(sql.SQL("SELECT {} FROM {}").format(chosen, table)).fetchall())
        assert seen != "[]"
        assert not [word for word in WORDS if word in seen], one["name"]


def test_analyst_opens_no_other_table(world: World, analyst: Transaction) -> None:
    for table in world.tables():
        if table == sql.Identifier("neurigraph", "file_index"):
            continue  # it has nothing but ids
        with pytest.raises(InsufficientPrivilege):
            analyst.execute(sql.SQL("SELECT * FROM {}").format(table))
    for statement in (
        "SELECT content FROM neurigraph.messages",
        "SELECT statement FROM neurigraph.facts",
        "SELECT node_name FROM neurigraph.graph_index",
        "SELECT count(*) FROM neurigraph.graph_index WHERE node_name = 'Family'",
        "SELECT error FROM neurigraph.pipeline_failures",
        "SELECT * FROM neurigraph_private.claims_key",
    ):
        with pytest.raises(InsufficientPrivilege):
            analyst.execute(sql.SQL(statement))
    hidden = "SELECT FROM pg_stats WHERE schemaname = 'neurigraph' AND attname IN ('content', 'node_name', 'statement')"
    assert analyst.execute(sql.SQL(hidden)).fetchall() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE neurigraph.users SET slug = 'mine'",
        "DELETE FROM neurigraph.record_index",
        "INSERT INTO neurigraph.users (slug) VALUES ('mallory')",
        "TRUNCATE neurigraph.facts CASCADE",
        "SELECT user_id FROM neurigraph.users FOR UPDATE",
        "SET ROLE neurigraph_owner",
        "SET ROLE neurigraph_pipeline",
        "SET ROLE neurigraph_agent",
        "CREATE TABLE neurigraph.mine (id integer)",
        "CREATE SCHEMA mine",
        "ALTER ROLE neurigraph_analyst BYPASSRLS",
        "DROP POLICY analyst_read ON neurigraph.facts",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
def test_analyst_changes_nothing(analyst: Transaction, statement: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        analyst.execute(sql.SQL(statement))


def test_analyst_calls_no_function_with_rights_of_the_owner(analyst: Transaction) -> None:
    callable_ones = analyst.execute(
        "SELECT p.oid::regprocedure::text AS name FROM pg_proc AS p INNER JOIN pg_namespace AS n "
        "ON p.pronamespace = n.oid WHERE n.nspname ~ '^neurigraph' AND p.prosecdef "
        "AND p.prorettype <> 'trigger'::regtype AND has_function_privilege(p.oid, 'EXECUTE')"
    ).fetchall()
    assert callable_ones == []
