"""Time to back up an installation, against ``pg_dump`` of the same database and a plain copy of the same files."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.runtime.stack.backup.check import check
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.wiring.installation import Installation
from resources.age_encryption import AgeKey
from resources.postgres.dump import dump

FILES, QUICK_FILES = 1_000, 20
FILE_BYTES = 200_000
ROWS, QUICK_ROWS = 10_000, 200

_SILENT = BackupListener(lambda _: None, lambda _: None)
_METHOD = f"""An installation with {FILES:,} uploads of {FILE_BYTES:,} random bytes each that wait in the object store,
and a table of {ROWS:,} rows with a vector of 1,536 random numbers each. One run each, in this order; the page cache is
warm. MB/s counts bytes of files and of the dump. The copy is `shutil.copytree` and one `sync`."""


def run(bench: Bench) -> Section:
    """Measure everything once."""
    files, rows = (QUICK_FILES, QUICK_ROWS) if bench.quick else (FILES, ROWS)
    folder = bench.folder / f"backups_{uuid4().hex}"
    folder.mkdir()
    AgeKey.make(folder / "key")
    plain, sealed = BackupFolder(folder / "plain", None), BackupFolder(folder / "sealed", AgeKey.read(folder / "key"))
    measured: list[list[str]] = []

    def measure(name: str, work: Callable[[], int]) -> None:
        bench.say(name)
        started = time.perf_counter()
        moved = work()
        seconds = time.perf_counter() - started
        measured.append([name, number(moved / 1e6), number(seconds), number(moved / 1e6 / seconds)])

    with bench.installation() as installation:
        _fill(installation, files, rows)
        measure("plain copy of the files", lambda: _copy(installation, folder / "copied"))
        measure("`pg_dump` alone, as in a backup", lambda: _dump(installation))
        measure("backup, everything new", lambda: _back_up(installation, plain))
        measure("backup again, no new file", lambda: _back_up(installation, plain))
        measure("backup, encrypted, everything new", lambda: _back_up(installation, sealed))
        measure("`backup verify`", lambda: check(plain, plain.find(None), _SILENT).bytes_read)
        installation.close()
        measure("`restore`", lambda: _restore(installation, plain))
    shutil.rmtree(folder)
    return Section("Backup", _METHOD, table(("what", "MB", "seconds", "MB/s"), measured))


def _fill(installation: Installation, files: int, rows: int) -> None:
    user, _ = create_user(installation.database, "backup")
    claims = Claims.of_user(user.user_id)
    for _ in range(files):
        installation.uploads.receive(claims, "random.bin", [os.urandom(FILE_BYTES)])
    with installation.database.owner() as tx:
        tx.execute("CREATE TABLE neurigraph.measured (id bigint PRIMARY KEY, embedding vector(1536))")
        tx.execute(
            "INSERT INTO neurigraph.measured SELECT n, "
            "(SELECT array_agg(random()) FROM generate_series(1, 1536) AS d WHERE d + n > 0)::vector "
            "FROM generate_series(1, %s) AS n",
            [rows],
        )


def _copy(installation: Installation, target: Path) -> int:
    shutil.copytree(installation.home / "objects", target)
    os.sync()
    return sum(file.stat().st_size for file in target.rglob("*") if file.is_file())


def _dump(installation: Installation) -> int:
    with installation.database.owner() as tx:
        tx.execute("SET LOCAL transaction_isolation TO 'repeatable read'")
        row = tx.execute("SELECT pg_export_snapshot() AS name").fetchone()
        assert row is not None
        return sum(len(piece) for piece in dump(installation.administrator_url, row["name"]))


def _back_up(installation: Installation, folder: BackupFolder) -> int:
    done = back_up(installation, folder, None, _SILENT)
    new = done.new_objects * FILE_BYTES
    return done.database_bytes + new


def _restore(installation: Installation, folder: BackupFolder) -> int:
    shutil.rmtree(installation.home / "objects")
    done = restore(installation, folder, None, True, _SILENT)
    return int(folder.manifest(done.backup_id)["database"]["size_bytes"]) + done.new_objects * FILE_BYTES
