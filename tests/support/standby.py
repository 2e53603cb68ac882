"""A streaming standby of an embedded server, made with ``pg_basebackup``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from resources.postgres.embedded import _SETTINGS, ServerLease, _free_port
from resources.postgres.installation import programs, server_account


class Standby:
    """A running standby; its roles, passwords and databases are those of the primary."""

    def __init__(self, folder: Path, lease: ServerLease) -> None:
        self._folder = folder
        self._lease = lease
        self._account = server_account(folder / "data")
        self._port = _free_port(folder / "port")

    def make(self) -> None:
        """Copy the primary."""
        primary = self._lease.url(self._lease.superuser, self._lease.superuser_password, "postgres")
        self._run("pg_basebackup", f"--dbname={primary}", "--pgdata=data", "--checkpoint=fast", "--write-recovery-conf")

    def start(self) -> None:
        """Start it; it streams from the primary."""
        settings = {**_SETTINGS, "port": str(self._port), "fsync": "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        # A server inherits the output: a pipe would stay open for as long as it runs.
        with (self._folder / "log").open("ab") as log:
            command: list[str | Path] = [programs(self._account) / "pg_ctl", "-D", "data", "-w", "-o", options, "start"]
            started = self._account.run(command, folder=self._folder, output=log)
        assert started.returncode == 0, (self._folder / "log").read_text()

    def stop(self) -> None:
        """Stop it."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def pause_replay(self, *, paused: bool) -> None:
        """Let the standby fall behind, or catch up."""
        function = "pg_wal_replay_pause" if paused else "pg_wal_replay_resume"
        url = self.url(self._lease.url(self._lease.superuser, self._lease.superuser_password, "postgres"))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("SELECT {}()").format(sql.Identifier(function)))

    def has_database(self, primary: str) -> bool:
        """Return whether the standby has a database of the primary yet."""
        try:
            psycopg.connect(self.url(primary)).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, primary: str) -> str:
        """Return the address of the same database on the standby."""
        return make_conninfo("", **{**conninfo_to_dict(primary), "port": self._port})

    def _run(self, program: str, *arguments: str) -> None:
        done = self._account.run([programs(self._account) / program, *arguments], folder=self._folder)
        assert done.returncode == 0, done.stdout


@contextmanager
def standby_of(lease: ServerLease) -> Iterator[Standby]:
    """Run a standby."""
    folder = Path(tempfile.mkdtemp(prefix="standby-"))
    server_account(folder / "data").own(folder)
    standby = Standby(folder, lease)
    try:
        standby.make()
        standby.start()
        yield standby
        standby.stop()
    finally:
        shutil.rmtree(folder)
