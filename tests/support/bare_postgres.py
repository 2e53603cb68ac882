"""A Postgres server of the operating system, without pgvector."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from resources.postgres.installation import server_account

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@contextmanager
def bare_postgres() -> Iterator[str]:
    """A new server on a socket of its own; gives the connection string of its superuser."""
    programs = PROGRAMS[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="bare-postgres-"))
    data = folder / "data"
    account = server_account(data)
    os.chown(folder, account.uid, account.gid)
    user, group = (account.uid, account.gid) if account.switch else (None, None)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", str(data), *arguments]
        # A server inherits the output: a pipe would stay open for as long as it runs.
        with (folder / "log").open("ab") as log:
            subprocess.run(command, user=user, group=group, cwd=folder, stdout=log, stderr=log, check=True)

    try:
        run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
        run("pg_ctl", "-o", f"-k {folder} -h '' -F", "-w", "start")
        yield f"host={folder} user=postgres dbname=postgres"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder)
