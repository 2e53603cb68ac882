"""Writes what a release leaves for the tests of later ones: a dump of its schema, and the checksums of its migrations.

Run as ``python -m tests.support.released_schema VERSION`` when version VERSION is released, and commit both files.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from neurigraph_pipelines.database.statements import SQL_ROOT, Migration, numbered
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.installation import client_program
from tests.support.memories import converse, ingest, new_user, plain_context

DUMPS = Path(__file__).resolve().parent.parent / "data" / "released"
CHECKSUMS = DUMPS / "migrations.json"
FOLDERS = ("shared", "node")
_OPTIONS = (
    *("--inserts", "--no-comments", "--no-password", "--exclude-schema=dagster"),
    "--exclude-table-data=neurigraph_private.claims_key",  # a secret
)


def file_name(migration: Migration) -> str:
    return f"{migration.number:04d}_{migration.name}.sql"


def checksums() -> dict[str, dict[str, str]]:
    """Return the checksum of every migration, by folder and file."""
    return {folder: {file_name(migration): migration.checksum for migration in numbered(folder)} for folder in FOLDERS}


def write_dump(installation: Installation, target: Path) -> None:
    """Dump a database with a user, three nodes and two records, as statements that any client runs."""
    installation.migrate()
    user, claims = new_user(installation, "bob")
    converse(installation, claims, "#Family/Dave Dave sails a boat.", "#Notes He reads.")
    ingest(plain_context(installation), user)
    converse(installation, claims, "#Notes The red bicycle.", hours=1)
    ingest(plain_context(installation), user)
    parts = conninfo_to_dict(installation.administrator_url)
    environment = {**os.environ, "PGPASSWORD": str(parts["password"])}
    address = [f"--host={parts['host']}", f"--port={parts['port']}", f"--username={parts['user']}"]
    command = [str(client_program("pg_dump")), *address, *_OPTIONS, str(parts["dbname"])]
    text = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith((b"--", b"\\"))]
    target.write_bytes(gzip.compress(b"\n".join(lines) + b"\n", mtime=0))


def main() -> None:
    (version,) = sys.argv[1:]
    DUMPS.mkdir(exist_ok=True)
    CHECKSUMS.write_text(json.dumps(checksums(), indent=1) + "\n")
    with (
        tempfile.TemporaryDirectory() as home,
        Installation(Settings.model_validate({"home": home, "language_model": "offline"})) as installation,
    ):
        write_dump(installation, DUMPS / f"{version}.sql.gz")
    print(f"{DUMPS / version}.sql.gz and {CHECKSUMS} of {SQL_ROOT}")


if __name__ == "__main__":
    main()
