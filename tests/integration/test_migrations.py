"""The migration runner against real servers: from nothing, by migrations of a later version, and several at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.migrations import migrate, require_current, require_secret
from neurigraph_pipelines.database.schema import SHIPPED, Schema, node_statement
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import SQL_ROOT
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.model.errors import ConfigurationError
from resources.postgres.database import PostgresDatabase
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from tests.conftest import ROOT, SECRET
from tests.support.bare_postgres import PROGRAMS, bare_postgres
from tests.support.catalog import describe, differences
from tests.support.embedded_server import new_home

NEWEST = SHIPPED.newest
MIGRATE = """
import sys
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.migrations import migrate
sys.stdin.readline()
print(*migrate(sys.argv[1], Secret(sys.argv[2])).applied)
"""


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[ServerLease]:
    """A server that has never seen our roles."""
    with new_home(tmp_path) as home, EmbeddedPostgres(home).lease() as lease:
        yield lease


@pytest.fixture
def later(tmp_path: Path) -> Schema:
    """The schema of a later version: a column of users, one of the records of nodes, and the migrations to both."""
    folder = tmp_path / "sql"
    shutil.copytree(SQL_ROOT, folder)
    changes = (
        ("tables/users.sql", "neurigraph.users", "opaque_schema_names boolean NOT NULL DEFAULT false", "colour text"),
        (
            "node.sql",
            "{schema}.metadata_records",
            "importance real",
            "weight real NOT NULL DEFAULT 1",
        ),
    )
    for number, (path, table, before, column) in enumerate(changes, NEWEST + 1):
        file, digest = folder / path, Schema(folder).digest
        text = file.read_text()
        assert text.count(before) == 1
        file.write_text(text.replace(before, f"{before},\n    {column}"))
        migration = folder / "migrations" / f"{number:04d}_{column.split()[0]}.sql"
        migration.write_text(f"-- from: {digest}\nALTER TABLE {table} ADD COLUMN {column};\n")
    return Schema(folder)


def test_an_empty_database_gets_everything_and_a_second_run_nothing(empty_database_url: str) -> None:
    applied_names: list[str] = []
    first = migrate(empty_database_url, Secret(SECRET), on_applied=applied_names.append)
    assert first.version == NEWEST
    assert list(first.applied) == applied_names == ["schema"]
    before = _catalog(empty_database_url)
    second = migrate(empty_database_url, Secret(SECRET), on_applied=applied_names.append)
    assert (second.applied, second.routines, second.version) == ((), (), NEWEST)
    assert applied_names == ["schema"]
    assert _catalog(empty_database_url) == before


def test_migrations_lead_to_the_schema_of_an_empty_database(
    database_url: str, empty_database_url: str, later: Schema
) -> None:
    database = PostgresDatabase(database_url, Secret(SECRET))
    for slug in ("ana", "bob", "carl"):
        create_user(database, slug)
    with pytest.raises(
        ConfigurationError, match=f"at migration {NEWEST} of {NEWEST + 2}: run `neurigraph admin migrate`"
    ):
        require_current(database, later)
    report = migrate(database_url, Secret(SECRET), schema=later)
    assert (report.applied, report.version) == ((f"{NEWEST + 1:04d}_colour", f"{NEWEST + 2:04d}_weight"), NEWEST + 2)
    require_current(database, later)
    with database.owner() as tx:
        versions = tx.execute("SELECT node_ddl_version AS v, count(*) AS n FROM neurigraph.graph_index GROUP BY 1")
        assert versions.fetchall() == [{"v": NEWEST + 2, "n": 3}]
    assert migrate(database_url, Secret(SECRET), schema=later).applied == ()
    with pytest.raises(ConfigurationError, match="install the newer version"):
        require_current(database)
    database.close()
    assert migrate(empty_database_url, Secret(SECRET), schema=later).applied == ("schema",)
    new = PostgresDatabase(empty_database_url, Secret(SECRET))
    user, _ = create_user(new, "ana")
    home = _home(new, user)
    with new.owner() as tx:
        tx.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(home)))
        tx.execute(node_statement(later.node, home, user.root_node_id, user.user_id))
    new.close()
    assert differences(database_url, empty_database_url) == []


def test_migration_of_nodes_goes_on_where_it_failed(database_url: str, later: Schema) -> None:
    database = PostgresDatabase(database_url, Secret(SECRET))
    homes = [_home(database, create_user(database, slug)[0]) for slug in ("ana", "bob")]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE neurigraph.graph_index SET last_accessed_at = now() + interval '1 day' WHERE schema_name = %s",
            [homes[1]],
        )
        in_the_way = sql.SQL("ALTER TABLE {}.metadata_records ADD COLUMN weight text").format(sql.Identifier(homes[0]))
        connection.execute(in_the_way)
    with pytest.raises(psycopg.errors.DuplicateColumn):
        migrate(database_url, Secret(SECRET), schema=later)
    with psycopg.connect(database_url) as connection:
        versions = connection.execute("SELECT schema_name, node_ddl_version FROM neurigraph.graph_index").fetchall()
        assert dict(versions) == {homes[0]: NEWEST, homes[1]: NEWEST + 2}
        back = sql.SQL("ALTER TABLE {}.metadata_records DROP COLUMN weight").format(sql.Identifier(homes[0]))
        connection.execute(back)
    assert migrate(database_url, Secret(SECRET), schema=later).applied == (f"{NEWEST + 2:04d}_weight",)
    require_current(database, later)
    database.close()


def test_a_database_of_another_schema_is_refused_and_left_alone(database_url: str) -> None:
    """As databases are that an unreleased version made: their journal has other steps."""
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE neurigraph.schema_migrations SET name = 'utc_offset', checksum = 'other'")
        connection.execute("INSERT INTO neurigraph.schema_migrations (number, name, checksum) VALUES (21, 'roles', '')")
    before = _catalog(database_url)
    remedy = "`neurigraph user export` .* for each user .* `neurigraph import --format neurigraph` into a new one"
    with pytest.raises(ConfigurationError, match=remedy) as caught:
        migrate(database_url, Secret(SECRET))
    assert "\n" not in str(caught.value)
    database = PostgresDatabase(database_url, Secret(SECRET))
    with pytest.raises(ConfigurationError, match=remedy):
        require_current(database)
    database.close()
    assert _catalog(database_url) == before


def test_a_database_without_our_schema_is_not_current(empty_database_url: str, template_database: str) -> None:
    assert template_database  # so the roles exist
    database = PostgresDatabase(empty_database_url, Secret(SECRET))
    with pytest.raises(ConfigurationError, match=r"vector type not found.*Has `neurigraph admin migrate` been run"):
        require_current(database)
    database.close()


def test_processes_on_one_new_database_take_turns(empty_database_url: str) -> None:
    applied = _migrate_at_once([empty_database_url] * 3)
    assert sorted(map(len, applied)) == [0, 0, 1]


def test_databases_of_one_new_server_may_be_migrated_at_once(fresh_server: ServerLease) -> None:
    urls = [_new_database(fresh_server, f"tenant_{number}") for number in range(3)]
    assert [len(applied) for applied in _migrate_at_once(urls)] == [1] * 3
    for url in urls:
        database = PostgresDatabase(url, Secret(SECRET))
        require_current(database)
        database.close()


def test_an_administrator_who_is_no_superuser_can_migrate(fresh_server: ServerLease) -> None:
    _new_database(fresh_server, "managed")
    url = fresh_server.url(fresh_server.superuser, fresh_server.superuser_password, "managed")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE chief LOGIN CREATEROLE PASSWORD 'chief'")
        connection.execute("ALTER DATABASE managed OWNER TO chief")
        # Trusted on most services, where the database's owner may make it; here it is there already.
        connection.execute("CREATE EXTENSION vector")
    chief = fresh_server.url("chief", "chief", "managed")
    assert migrate(chief, Secret(SECRET)).version == NEWEST
    assert migrate(chief, Secret(SECRET)).applied == ()
    database = PostgresDatabase(chief, Secret(SECRET))
    require_current(database)
    database.close()


def test_a_file_that_was_changed_after_it_was_applied_is_detected(database_url: str, later: Schema) -> None:
    migrate(database_url, Secret(SECRET), schema=later)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE neurigraph.schema_migrations SET checksum = 'other' WHERE number = %s", [NEWEST + 1])
    with pytest.raises(ConfigurationError, match=f"{NEWEST + 1:04d}_colour was changed after it was applied"):
        migrate(database_url, Secret(SECRET), schema=later)


def test_functions_that_are_not_those_of_this_version_are_replaced(database_url: str) -> None:
    before = _catalog(database_url)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION neurigraph.may_read_node(wanted uuid) RETURNS boolean "
            "LANGUAGE sql AS 'SELECT true'"
        )
        connection.execute(
            "UPDATE neurigraph.schema_routines SET checksum = 'older' WHERE name = ANY(%s)",
            [["functions/access", "tables/facts"]],
        )
    database = PostgresDatabase(database_url, Secret(SECRET))
    with pytest.raises(ConfigurationError, match="not those of this version: `neurigraph admin migrate`"):
        require_current(database)
    assert migrate(database_url, Secret(SECRET)).routines == ("functions/access", "tables/facts")
    require_current(database)
    database.close()
    assert _catalog(database_url) == before, "also the policy, which this version does not have, is gone"


def test_functions_that_cannot_be_replaced_stay_all_as_they_were(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE neurigraph.schema_routines SET checksum = 'older'")
        connection.execute("DROP FUNCTION neurigraph.staged(integer)")
        connection.execute("SET ROLE neurigraph_owner")
        connection.execute("CREATE FUNCTION neurigraph.staged(most integer) RETURNS text LANGUAGE sql AS 'SELECT 1'")
    before = _catalog(database_url)
    with pytest.raises(ConfigurationError, match="no migration leads from"):
        migrate(database_url, Secret(SECRET))
    assert _catalog(database_url) == before


def test_a_newer_database_is_refused_and_left_alone(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO neurigraph.schema_migrations (number, name, checksum) VALUES (%s, 'later', '')", [NEWEST + 1]
        )
    before = _catalog(database_url)
    with pytest.raises(ConfigurationError, match="install the newer version"):
        migrate(database_url, Secret(SECRET))
    database = PostgresDatabase(database_url, Secret(SECRET))
    with pytest.raises(ConfigurationError, match="install the newer version"):
        require_current(database)
    database.close()
    assert _catalog(database_url) == before


def test_a_schema_that_fails_leaves_no_trace(empty_database_url: str, template_database: str) -> None:
    assert template_database  # so the roles exist
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE SCHEMA neurigraph AUTHORIZATION neurigraph_owner")
        connection.execute("CREATE TABLE neurigraph.record_index (in_the_way integer)")
    with pytest.raises(psycopg.errors.DuplicateTable):
        migrate(empty_database_url, Secret(SECRET))
    with psycopg.connect(empty_database_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname LIKE 'neurigraph%'").fetchall()
        assert tables == [("record_index",)]
        connection.execute("DROP TABLE neurigraph.record_index")
    assert migrate(empty_database_url, Secret(SECRET)).version == NEWEST


def test_a_server_that_is_not_there_is_one_clear_line(server: ServerLease) -> None:
    with pytest.raises(ConfigurationError, match=r"^cannot connect to Postgres"):
        migrate("postgresql://nobody:wrong@127.0.0.1:1/none", Secret(SECRET))
    with pytest.raises(ConfigurationError, match=r"^cannot connect to Postgres"):
        migrate(server.url(server.superuser, "wrong", "postgres"), Secret(SECRET))


@pytest.mark.skipif(not PROGRAMS, reason="the operating system has no Postgres server of its own")
def test_a_server_without_pgvector_is_one_clear_line() -> None:
    with bare_postgres() as url:
        with pytest.raises(ConfigurationError) as caught:
            migrate(url, Secret(SECRET))
        message = str(caught.value)
        assert "no pgvector" in message
        assert "install" in message
        assert "\n" not in message
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'neuri%'").fetchone() == (
                0,
            )


def test_another_secret_is_refused(fresh_server: ServerLease) -> None:
    url, right = _new_database(fresh_server, "first"), Secret("of claims", "of roles")
    migrate(url, right)
    service = PostgresDatabase(url, right)
    for wrong, named in (
        (Secret("another", "of roles"), "NEURIGRAPH_SECRET"),
        (Secret("of claims", "another"), "NEURIGRAPH_ROLE_SECRET"),
        (Secret("of claims"), "NEURIGRAPH_ROLE_SECRET"),
    ):
        with pytest.raises(ConfigurationError, match=f"another secret: set {named}, .*rotate-secret") as caught:
            migrate(url, wrong)
        assert "\n" not in str(caught.value)
        with service.pipeline() as tx:
            tx.execute("SELECT")
    with pytest.raises(ConfigurationError, match="another secret: set NEURIGRAPH_SECRET"):
        require_secret(service, Secret("another", "of roles"))
    require_secret(service, right)
    assert migrate(url, right).applied == ()
    service.close()


def test_databases_of_one_server_share_the_passwords_only(fresh_server: ServerLease) -> None:
    migrate(_new_database(fresh_server, "first"), Secret("of the first", "of roles"))
    second = _new_database(fresh_server, "second")
    with pytest.raises(ConfigurationError, match="NEURIGRAPH_ROLE_SECRET"):
        migrate(second, Secret("of the second", "another"))
    assert migrate(second, Secret("of the second", "of roles")).version == NEWEST


def test_secrets_are_replaced_when_asked(fresh_server: ServerLease) -> None:
    url, old, new = _new_database(fresh_server, "rotated"), Secret("old", "old roles"), Secret("new", "new roles")
    migrate(url, old)
    migrate(url, new, replace_claims_key=True, replace_passwords=True)
    with (
        pytest.raises(ConfigurationError, match="password authentication failed"),
        PostgresDatabase(url, old).pipeline(),
    ):
        pass
    database = PostgresDatabase(url, new)
    require_current(database)
    database.close()
    with pytest.raises(ConfigurationError, match="another secret"):
        migrate(url, old)


def test_passwords_of_an_older_version_are_replaced(fresh_server: ServerLease) -> None:
    url = _new_database(fresh_server, "older")
    migrate(url, Secret("of claims"))  # one secret for both, and no note of it
    with psycopg.connect(url) as connection:
        connection.execute("COMMENT ON ROLE neurigraph_pipeline IS NULL")
    with pytest.raises(ConfigurationError, match="NEURIGRAPH_SECRET"):
        migrate(url, Secret("another", "of roles"))
    for _ in range(2):
        assert migrate(url, Secret("of claims", "of roles")).applied == ()
    database = PostgresDatabase(url, Secret("of claims", "of roles"))
    require_current(database)
    database.close()
    with (
        pytest.raises(ConfigurationError, match="password authentication failed"),
        PostgresDatabase(url, Secret("of claims")).pipeline(),
    ):
        pass


def _home(database: PostgresDatabase, user: User) -> str:
    with database.owner() as tx:
        row = tx.execute("SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s", [user.user_id]).fetchone()
    assert row is not None
    return str(row["schema_name"])


def _new_database(server: ServerLease, name: str) -> str:
    with psycopg.connect(
        server.url(server.superuser, server.superuser_password, "postgres"), autocommit=True
    ) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return server.url(server.superuser, server.superuser_password, name)


def _migrate_at_once(urls: Sequence[str]) -> list[list[str]]:
    """Migrate in a process each, all let loose at the same moment; gives what each applied."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE, url, SECRET],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for url in urls
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in processes]
    assert [error for _, error in answers] == [""] * len(urls)
    return [output.split() for output, _ in answers]


def _catalog(url: str) -> set[str]:
    """Everything that our migrations make, as the catalog describes it, and the journal."""
    with psycopg.connect(url) as connection:
        journal = connection.execute("SELECT number, name, checksum FROM neurigraph.schema_migrations").fetchall()
    return {*describe(url), *map(str, journal)}
