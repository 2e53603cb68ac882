"""Leases of embedded servers, held by another process or this one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from resources.postgres.embedded import EmbeddedPostgres, ServerLease

PROJECT = Path(__file__).parents[2]

HOLD = """
import sys
from pathlib import Path
from resources.postgres.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])).lease() as lease:
    print(lease.port, flush=True)
    sys.stdin.read()
"""


class Holder:
    """A process that holds a lease until `let_go` or `kill` is called."""

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


@contextlib.contextmanager
def new_home(folder: Path) -> Iterator[Path]:
    """Yield a home folder that does not exist yet; its server is deleted at the end of the block."""
    yield folder / "home"
    EmbeddedPostgres(folder / "home").delete()


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


def server_pids(home: Path) -> list[int]:
    """Return the processes of a server, the one first that started the others."""
    first = server_pid(home)
    stats = [file.read_text() for file in Path("/proc").glob("[0-9]*/stat")]
    return [first, *(int(one.split()[0]) for one in stats if one.rpartition(")")[2].split()[1] == str(first))]
