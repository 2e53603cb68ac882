"""The database of Dagster's storage: made once, also by programs that start at once or died, and closed to others.

Dagster's processes keep their connections to it, but for the code server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import dagster as dg
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.runtime.stack.dagster_home import storage_url
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import dagster_database, ensure_dagster_database
from tests.support.waiting import wait_until

AT_ONCE = 6
SILENT = BackupListener(lambda _: None, lambda _: None)


@pytest.fixture
def name(database_url: str) -> str:
    return dagster_database(database_url)


@pytest.fixture
def chief(administrator: psycopg.Connection, database_url: str) -> Iterator[str]:
    """The address of an administrator who may not create databases."""
    role = f"chief_{uuid4().hex}"
    administrator.execute(f"CREATE ROLE {role} LOGIN CREATEROLE PASSWORD '{role}'")
    administrator.execute(f"GRANT neurigraph_dagster TO {role}")
    yield make_conninfo(database_url, user=role, password=role)
    administrator.execute(f"DROP ROLE {role}")


@pytest.fixture
def instance(installation: Installation, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A process's view of Dagster's storage, as in an installation."""
    installation.ensure_dagster_database()
    storage = {"postgres": {"postgres_url": storage_url(installation, tmp_path / "pgpass")}}
    (tmp_path / "dagster").mkdir()
    overrides = {"storage": storage, "telemetry": {"enabled": False}}
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides=overrides) as made:
        yield made


def sessions(administrator: psycopg.Connection, name: str) -> set[int]:
    """Return the process ids of the sessions in a database."""
    found = administrator.execute("SELECT pid FROM pg_stat_activity WHERE datname = %s", [name])
    return {pid for (pid,) in found}


def state_of(administrator: psycopg.Connection, name: str) -> tuple[object, ...] | None:
    """Return the owner of a database, and whether everybody may connect; None without a database."""
    return administrator.execute(
        "SELECT pg_get_userbyid(datdba), has_database_privilege('public', oid, 'CONNECT') FROM pg_database "
        "WHERE datname = %s",
        [name],
    ).fetchone()


def test_programs_that_start_at_once(administrator: psycopg.Connection, database_url: str, name: str) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(ensure_dagster_database, [database_url] * AT_ONCE))
    assert state_of(administrator, name) == ("neurigraph_dagster", False)


def test_program_that_died_before_it_had_closed_the_database(
    administrator: psycopg.Connection, database_url: str, name: str
) -> None:
    create = sql.SQL("CREATE DATABASE {} OWNER neurigraph_dagster").format(sql.Identifier(name))
    administrator.execute(create)
    assert state_of(administrator, name) == ("neurigraph_dagster", True)
    ensure_dagster_database(database_url)
    assert state_of(administrator, name) == ("neurigraph_dagster", False)


def test_error_names_the_statement_to_run(administrator: psycopg.Connection, chief: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match="may not create Dagster's database") as refused:
        ensure_dagster_database(chief)
    assert state_of(administrator, name) is None
    (statement,) = re.findall(r"CREATE DATABASE .* OWNER \w+", str(refused.value))
    administrator.execute(statement)
    ensure_dagster_database(chief)
    assert state_of(administrator, name) == ("neurigraph_dagster", False)


def test_database_of_somebody_else_is_left_alone(
    administrator: psycopg.Connection, database_url: str, name: str, installation: Installation, tmp_path: Path
) -> None:
    """A restore would drop it, although nothing of it is in a backup."""
    folder = BackupFolder(tmp_path / "backups", None)
    back_up(installation, folder, None, SILENT)
    installation.close()
    administrator.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    before = state_of(administrator, name)
    with pytest.raises(ConfigurationError, match="is not Dagster's"):
        ensure_dagster_database(database_url)
    with pytest.raises(ConfigurationError, match="is not Dagster's"):
        restore(installation, folder, None, True, SILENT)
    with pytest.raises(ConfigurationError, match="is not Dagster's"):
        back_up(installation, folder, None, SILENT)
    assert state_of(administrator, name) == before is not None


def test_name_that_postgres_would_cut_off(database_url: str) -> None:
    assert dagster_database(make_conninfo(database_url, dbname="a" * 40)) == "a" * 40 + "_dagster"
    with pytest.raises(ConfigurationError, match="40 bytes"):
        dagster_database(make_conninfo(database_url, dbname="ä" * 21))


def test_processes_keep_a_connection(
    administrator: psycopg.Connection, name: str, instance: dg.DagsterInstance
) -> None:
    assert instance.get_runs_count() == 0
    kept = sessions(administrator, name)
    assert kept
    for _ in range(5):
        instance.get_runs_count()
    assert sessions(administrator, name) == kept


def test_kept_connection_outlives_the_server(
    administrator: psycopg.Connection, name: str, instance: dg.DagsterInstance
) -> None:
    instance.get_runs_count()
    kept = sessions(administrator, name)
    administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
    assert instance.get_runs_count() == 0
    assert not sessions(administrator, name) & kept


@pytest.fixture
def of_code_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["dagster", "api", "grpc"])


@pytest.mark.usefixtures("of_code_server")
def test_code_server_keeps_none(administrator: psycopg.Connection, name: str, request: pytest.FixtureRequest) -> None:
    """It opens the storage for each tick, and nothing closes it."""
    request.getfixturevalue("instance").get_runs_count()
    wait_until(lambda: not sessions(administrator, name), "the session is closed")
