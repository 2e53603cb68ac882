"""The embedded server: shared by processes, killed and recovered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from resources.postgres.installation import server_account
from resources.postgres.process import find_postmaster, postgres_processes, works_in
from tests.support.embedded_server import Holder, ask, connect, new_home, server_pid
from tests.support.waiting import wait_until

pytestmark = pytest.mark.end_to_end

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with new_home(tmp_path) as home:
        yield home


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for tests that leave its server as they found it."""
    with new_home(tmp_path_factory.mktemp("shared")) as home:
        yield home


# Sharing


def test_two_processes_share_a_new_server(home: Path) -> None:
    first, second = Holder(home), Holder(home)
    assert first.port() == second.port()
    pid = server_pid(home)
    assert first.let_go() == 0
    assert server_pid(home) == pid
    assert second.let_go() == 0
    assert not EmbeddedPostgres(home).status().running
    assert not works_in(pid, home / "postgres" / "data")


def test_leases_are_counted(shared_home: Path) -> None:
    leases: list[ServerLease] = []
    threads = [threading.Thread(target=lambda: leases.append(EmbeddedPostgres(shared_home).lease())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({lease.port for lease in leases}) == 1
    for lease in leases[:-1]:
        lease.close()
        lease.close()
        assert EmbeddedPostgres(shared_home).status().running
    assert ask(leases[-1], "SELECT 1") == 1
    leases[-1].close()
    assert not EmbeddedPostgres(shared_home).status().running


def test_collected_lease_is_closed(shared_home: Path) -> None:
    lease = EmbeddedPostgres(shared_home).lease()
    assert EmbeddedPostgres(shared_home).status().running
    del lease
    assert not EmbeddedPostgres(shared_home).status().running


def test_stop_and_restart_by_lease(shared_home: Path) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease() as lease, connect(lease) as connection:
        server.stop()
        assert not server.status().running
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        with server.lease() as again:
            assert again.port == lease.port
            assert ask(lease, "SELECT 1") == 1
    server.stop()


def test_status_names_paths(shared_home: Path) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease() as lease:
        status = server.status()
        assert (status.running, status.host, status.port) == (True, lease.host, lease.port)
        assert status.started_at is not None
        assert abs(time.time() - status.started_at.timestamp()) < 60
        assert (status.data_folder / "PG_VERSION").exists()
        assert "ready to accept connections" in status.log_file.read_text()
    assert server.status().pid is None


def test_status_of_missing_home(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "nowhere")
    assert not server.status().running
    server.stop()
    server.delete()
    assert not (tmp_path / "nowhere").exists()


# Kills


def test_server_outlives_its_starter(home: Path) -> None:
    starter = Holder(home)
    port = starter.port()
    other = Holder(home)
    assert other.port() == port
    pid = server_pid(home)
    starter.kill()
    with EmbeddedPostgres(home).lease() as lease:
        assert ask(lease, "SELECT 1") == 1
        assert server_pid(home) == pid
    assert server_pid(home) == pid
    assert other.let_go() == 0
    assert not EmbeddedPostgres(home).status().running


def test_orphaned_server_is_taken_over(home: Path) -> None:
    starter = Holder(home)
    starter.port()
    pid = server_pid(home)
    starter.kill()
    with EmbeddedPostgres(home).lease():
        assert server_pid(home) == pid
    assert not EmbeddedPostgres(home).status().running


def test_killed_initdb_is_repeated(home: Path) -> None:
    starter = Holder(home)
    wait_until(lambda: list((home / "postgres").glob("build-*/data/base")))
    starter.kill()
    assert not (home / "postgres" / "data").exists()
    with EmbeddedPostgres(home).lease() as lease:
        assert ask(lease, "SELECT 1") == 1
    assert not list((home / "postgres").glob("build-*/data/PG_VERSION"))


def test_killed_server_recovers(home: Path) -> None:
    server = EmbeddedPostgres(home)
    with server.lease() as lease:
        with connect(lease) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        os.kill(server_pid(home), signal.SIGKILL)
        with server.lease() as again:
            assert ask(again, "SELECT answer FROM kept") == 42
            assert again.port == lease.port


@ON_LINUX
def test_orphaned_backends_are_ended(home: Path) -> None:
    server = EmbeddedPostgres(home)
    with server.lease() as lease:
        data = server.status().data_folder
        connection = connect(lease)
        # Never waits, so it never notices that its server died.
        endless = "SELECT sum(i) FROM (SELECT generate_series(1, 1000000000000) AS i) AS numbers"
        pid = connection.info.backend_pid
        connection.pgconn.send_query(endless.encode())
        wait_until(lambda: ask(lease, f"SELECT state FROM pg_stat_activity WHERE pid = {pid}") == "active")
        os.kill(server_pid(home), signal.SIGKILL)
        wait_until(lambda: postgres_processes(data) == [pid])
        with server.lease() as again:
            assert ask(again, "SELECT 1") == 1
            assert not works_in(pid, data)
        connection.close()


@pytest.mark.parametrize("text", ["", "\n\n\n", "not a number\n", "99999999999999999999\n", "\x00\x01"])
def test_damaged_pid_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "postmaster.pid").write_text(text)
    assert find_postmaster(tmp_path) is None


def test_reused_pid_is_no_server(shared_home: Path) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease():
        data = server.status().data_folder
        record = (data / "postmaster.pid").read_text().splitlines()
    account = server_account(data)
    # Of the account of the server: the kind that Postgres itself takes for a running server.
    sleeper = subprocess.Popen(
        ["/bin/sleep", "60"],
        user=account.uid if account.switch else None,
        group=account.gid if account.switch else None,
        extra_groups=[] if account.switch else None,
    )
    try:
        (data / "postmaster.pid").write_text("\n".join([str(sleeper.pid), *record[1:]]) + "\n")
        assert not server.status().running
        with server.lease() as lease:
            assert ask(lease, "SELECT 1") == 1
            assert server_pid(shared_home) != sleeper.pid
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_server_of_another_folder_is_refused(shared_home: Path, home: Path) -> None:
    """A server answers at the port, with the right password, and works in another folder."""
    own, foreign = EmbeddedPostgres(shared_home), EmbeddedPostgres(home)
    with own.lease() as lease, foreign.lease() as other:
        password = lease.superuser_password
        with psycopg.connect(other.url(other.superuser, other.superuser_password, "postgres")) as connection:
            change = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(other.superuser), password)
            connection.execute(change)
        own._verify(lease.port, password)
        with pytest.raises(psycopg.OperationalError, match="belongs to the server of another data folder"):
            own._verify(other.port, password)
