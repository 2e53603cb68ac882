"""The embedded Postgres server: created on first use, started on demand, shared, stopped with its last lease.

It listens on a loopback port and nowhere else. A socket needs a path below 108 bytes, which a home folder does not
guarantee, and every client here takes a host and a port. Every connection authenticates with SCRAM, which keeps other
accounts of the machine out; clients accept nothing weaker, so a program that takes the port while the server is down
learns no password. ``postgres.installation`` finds programs and account, ``postgres.cluster`` makes the folders,
``postgres.database`` connects with the roles.

Below the home folder::

    postgres.lock             locked while the server is started or stopped
    postgres/                 0700; of root: 0710, for the account of the server to pass through
        data/                 the data folder, 0700
        leases.lock           share-locked by every open lease; the kernel releases the lock even on kill -9
        superuser_password    0600
        home.json             the home that the folder belongs to
        port                  the last port, used again when free, so that pools can reconnect
        server.log            rotated to server.log.1 above 10 MB

If root's unprivileged account cannot enter the home folder, ``postgres`` is a link to a folder below
``/var/lib/neurigraph``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import ConfigurationError, TransientError
from neurigraph_pipelines.settings.log_files import rotate
from resources.files import write_private
from resources.postgres.cluster import SUPERUSER, make_cluster, make_folder
from resources.postgres.installation import Account, last_line, programs, server_account
from resources.postgres.ownership import mark_owner
from resources.postgres.process import find_postmaster, postgres_processes, works_in

HOST = "127.0.0.1"

_QUERIES = statements("session")

_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    # Four runs, the API and Dagster's own processes come near a hundred under load.
    "max_connections": "200",
    "shared_buffers": "256MB",
    # The default of 64 breaks dumps and queries over many node schemas.
    "max_locks_per_transaction": "1024",
    # One generic plan over thousands of node tables would lock them all.
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    # What an idle server would hold memory for: three processes that read ahead, replication of rows, and workers.
    "io_method": "sync",
    "io_max_concurrency": "8",
    "max_logical_replication_workers": "0",
    "autovacuum_worker_slots": "3",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "logging_collector": "off",
    "log_checkpoints": "off",
    # Users' text must not reach the log with a failing row or statement.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    # Crash recovery with 679,000 files: 1 s against 621 s. Only Linux has syncfs.
    "recovery_init_sync_method": "syncfs" if sys.platform == "linux" else "fsync",
}

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of the server, read without connecting to it."""

    running: bool
    pid: int | None
    host: str
    port: int | None
    started_at: datetime | None
    data_folder: Path
    log_file: Path


class ServerLease:
    """A lease on the running server; a context manager.

    Closing the last lease, over all processes of the home folder, stops the server. An open lease is closed when it is
    garbage-collected or the interpreter exits; the lease of a killed process ends with it.
    """

    def __init__(self, port: int, superuser_password: str, release: Callable[[], None]) -> None:
        self.host = HOST
        self.port = port
        self.superuser = SUPERUSER
        self.superuser_password = superuser_password
        self._release = weakref.finalize(self, release)

    def url(self, user: str, password: str, database: str) -> str:
        """Return a ``postgresql://`` address that requires SCRAM; any part may contain any character but NUL."""
        return _url(self.port, user, password, database)

    def close(self) -> None:
        """Release the lease and stop the server if no other lease is open. Closing again does nothing.

        Raises:
            TransientError: The server did not stop within a minute.
        """
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class EmbeddedPostgres:
    """The server of one home folder; any number of objects, threads and processes may share it."""

    def __init__(self, home: Path) -> None:
        """Store the paths; nothing is created or started yet.

        Args:
            home: ``Settings.home``; created when absent.
        """
        self._home = home.expanduser().resolve()
        self._folder = self._home / "postgres"
        self._data = self._folder / "data"
        self._log = self._folder / "server.log"

    def lease(self) -> ServerLease:
        """Return a lease on the server, after creating and starting it if needed.

        Raises:
            ConfigurationError: The server cannot run here; the message says what to do.
            TransientError: The server does not answer yet, such as during a long recovery.
        """
        with self._exclusively():
            account = server_account(self._data)
            make_folder(self._folder, account)
            mark_owner(self._home, self._folder)
            # Closing releases the lock, so every lease has its own descriptor; no child inherits it.
            descriptor = os.open(self._folder / "leases.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                password = make_cluster(self._folder, account)
                port = self._ensure_running(account, password)
            except BaseException:
                os.close(descriptor)
                raise
        return ServerLease(port, password, lambda: self._release(descriptor))

    def status(self) -> ServerStatus:
        """Return whether the server runs, and its paths."""
        with self._readable_errors():
            found = find_postmaster(self._data)
        return ServerStatus(
            running=found is not None,
            pid=found.pid if found else None,
            host=HOST,
            port=found.port if found else None,
            started_at=found.started_at if found else None,
            data_folder=self._data.resolve(),
            log_file=self._log.resolve(),
        )

    def revive(self) -> bool:
        """Start the server again if it is gone; return whether this call did.

        Raises:
            ConfigurationError: The server cannot run here; the message says what to do.
            TransientError: The server does not answer yet, such as during a long recovery.
        """
        if find_postmaster(self._data) is not None:
            return False
        with self._exclusively():
            if find_postmaster(self._data) is not None:
                return False
            account = server_account(self._data)
            self._ensure_running(account, make_cluster(self._folder, account))
        return True

    def stop_unused(self) -> None:
        """Stop the server if it runs and no lease is open.

        Raises:
            TransientError: The server did not stop within a minute.
        """
        if self._folder.exists():
            self._release(os.open(self._folder / "leases.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))

    def stop(self) -> None:
        """Stop the server even if leases are open: connections end, and the next lease starts it again.

        Raises:
            TransientError: The server did not stop within a minute.
        """
        if self._folder.exists():
            with self._exclusively():
                self._shut_down()

    def delete(self) -> None:
        """Stop the server and delete its data for good.

        Raises:
            TransientError: The server did not stop within a minute; nothing was deleted.
        """
        if self._folder.exists():
            with self._exclusively():
                self._shut_down()
                shutil.rmtree(self._folder.resolve())
                if self._folder.is_symlink():
                    self._folder.unlink()

    @contextlib.contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Hold the start lock of this home folder against other threads and processes."""
        with self._readable_errors():
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._home / "postgres.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if self._folder.is_dir():
                    mark_owner(self._home, self._folder)
                yield
            finally:
                os.close(lock)

    @contextlib.contextmanager
    def _readable_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigurationError(
                f"The embedded server cannot use its folder in {self._home} ({error}): "
                "run as the user who created it, or set NEURIGRAPH_HOME to a folder that you may write to."
            ) from error

    def _release(self, descriptor: int) -> None:
        try:
            if self._folder.exists():
                with self._exclusively():
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        return
                    self._shut_down()
        finally:
            os.close(descriptor)

    def _ensure_running(self, account: Account, password: str) -> int:
        """Start the server unless it runs; return the port once the server accepts connections."""
        deadline = time.monotonic() + _START_SECONDS
        reason = "it is starting or stopping"
        while True:
            found = find_postmaster(self._data)
            if found is None:
                self._start(account)
            elif found.ready and found.port is not None:
                try:
                    self._verify(found.port, password)
                except psycopg.OperationalError as error:
                    # For example, the server is being killed at this moment.
                    reason = str(error)
                else:
                    return found.port
            if time.monotonic() > deadline:
                raise TransientError(
                    f"The embedded server is not ready after {_START_SECONDS:.0f} s: {reason}. Try again; "
                    f"{self._log} has details."
                )
            time.sleep(0.02)

    def _start(self, account: Account) -> None:
        """Try to start the server once; also returns after a failure that another attempt may avoid."""
        # The file is stale, because no server runs; a server that finds its id in use would refuse to start.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        rotate(self._log)
        port = _free_port(self._folder / "port")
        options = " ".join(f"-c {name}={value}" for name, value in {**_SETTINGS, "port": str(port)}.items())
        # Names are relative because pg_ctl passes them to a shell. The server inherits only the log's descriptor.
        arguments = ["-D", "data", "-w", "-t", f"{_START_SECONDS:.0f}", "-o", options, "start"]
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "ab") as log:
            before = os.fstat(descriptor).st_size
            started = account.run([programs(account) / "pg_ctl", *arguments], folder=self._folder, output=log)
        if started.returncode == 0:
            write_private(self._folder / "port", str(port))
            return
        if find_postmaster(self._data) is not None:
            return
        with self._log.open("rb") as log:
            log.seek(before)
            output = log.read()
        if b"shared memory block" in output:
            # Backends that outlived a killed server would write to the data folder of the new one.
            for pid in postgres_processes(self._data):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif b"could not bind" in output:
            (self._folder / "port").unlink(missing_ok=True)
        else:
            raise ConfigurationError(
                f"The embedded server did not start: {last_line(output, b'FATAL:')} (more in {self._log})"
            )

    def _verify(self, port: int, password: str) -> None:
        """Connect, and check that it is the server of this data folder."""
        try:
            with psycopg.connect(_url(port, SUPERUSER, password, "postgres"), connect_timeout=10) as server:
                row = server.execute(_QUERIES["data_folder"]).fetchone()
        except psycopg.OperationalError as error:
            if "password authentication failed" not in str(error):
                raise
            raise ConfigurationError(
                f"The password in {self._folder / 'superuser_password'} does not open the embedded server: "
                f"restore the right one, or move {self._folder} away to start with an empty database."
            ) from error
        if row is None or Path(row[0]) != self._data.resolve():
            raise psycopg.OperationalError(f"port {port} belongs to the server of another data folder")

    def _shut_down(self) -> None:
        """Fast shutdown: transactions roll back, connections end, a checkpoint is written."""
        found = find_postmaster(self._data)
        if found is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGINT)
        deadline = time.monotonic() + _STOP_SECONDS
        while works_in(found.pid, self._data):
            if time.monotonic() > deadline:
                raise TransientError(
                    f"The embedded server (process {found.pid}) did not stop within {_STOP_SECONDS:.0f} s: "
                    f"try again; {self._log} has details."
                )
            time.sleep(0.01)


def _url(port: int, user: str, password: str, database: str) -> str:
    user, password, database = (quote(part, safe="") for part in (user, password, database))
    return f"postgresql://{user}:{password}@{HOST}:{port}/{database}?require_auth=scram-sha-256"


def _free_port(remembered: Path) -> int:
    """Return the last port if it is free, else any free port."""
    last = remembered.read_text(encoding="ascii") if remembered.exists() else ""
    for port in (int(last) if last.isascii() and last.isdigit() else 0, 0):
        with contextlib.suppress(OSError, OverflowError), socket.socket() as probe:
            # As Postgres does: closing connections of the previous server do not occupy the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    raise ConfigurationError(f"No free port on {HOST}: end a program that listens there.")
