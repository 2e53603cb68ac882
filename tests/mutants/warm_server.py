"""A Postgres server and a template database that many runs of tests share, and that no run may change."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql

from neurigraph_pipelines.database.migrations import migrate
from neurigraph_pipelines.database.secret import Secret
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from tests.conftest import SECRET, TEMPLATE

_ROLES = """
    SELECT
        (SELECT array_agg(a::text ORDER BY a.oid) FROM pg_authid AS a),
        (SELECT array_agg(m::text ORDER BY m.oid) FROM pg_auth_members AS m),
        (SELECT array_agg(s::text ORDER BY s.setrole) FROM pg_db_role_setting AS s WHERE s.setdatabase = 0),
        (SELECT array_agg(d::text ORDER BY d.objoid) FROM pg_shdescription AS d)
"""
_LEFT = "SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1', %s)"


class WarmServer:
    """A server in a home of its own; a context manager. It starts with the first run that needs it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._lease: ServerLease | None = None
        self._roles: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def prepared(self) -> Path:
        """Return the home, without what the run before left; with a new server if the run changed its roles."""
        try:
            if self._lease is not None and self._clean(self._lease):
                return self.home
        except psycopg.OperationalError:
            pass  # a run stopped the server
        self._end()
        self._start()
        return self.home

    def _start(self) -> None:
        self.home.mkdir(mode=0o711)
        (self.home / "models").mkdir()
        lease = EmbeddedPostgres(self.home).lease()
        self._lease = lease
        with self._connected(lease) as connection:
            for change in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
                connection.execute(change)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
            migrate(lease.url(lease.superuser, lease.superuser_password, TEMPLATE), Secret(SECRET))
            self._roles = connection.execute(_ROLES).fetchone()

    def _clean(self, lease: ServerLease) -> bool:
        with self._connected(lease) as connection:
            for (name,) in connection.execute(_LEFT, [TEMPLATE]).fetchall():
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
            roles = connection.execute(_ROLES).fetchone()
        for entry in self.home.iterdir():  # the model and the server stay
            if entry.name not in ("models", "postgres", "postgres.lock"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        return bool(roles == self._roles)

    def _end(self) -> None:
        if self._lease is not None:
            self._lease.close()
            self._lease = None
            EmbeddedPostgres(self.home).delete()
        shutil.rmtree(self.home, ignore_errors=True)

    @staticmethod
    def _connected(lease: ServerLease) -> psycopg.Connection[Any]:
        url = lease.url(lease.superuser, lease.superuser_password, "postgres")
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
