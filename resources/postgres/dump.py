"""Dumps of a database with ``pg_dump``, and their restore with ``pg_restore``, as streams of bytes.

The programs come with the embedded server. They read and write servers of that version and older ones.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from neurigraph_pipelines.model.errors import ConfigurationError, StorageError
from resources.postgres.installation import client_program

_PIECE_BYTES = 1 << 20
# Vectors hardly shrink, and the first level of gzip is four times as fast as the default.
_DUMP_OPTIONS = ("--format=custom", "--compress=gzip:1", "--no-comments", "--no-password", "--lock-wait-timeout=60s")
_WITHOUT_ROWS = (
    # Versions of cached data: transaction numbers of the server, which mean nothing on another.
    "neurigraph.user_changes",
    "neurigraph.node_changes",
    "neurigraph.record_changes",
    "neurigraph.peer_horizons",
    "neurigraph.warm_nodes",
    # Caches of nodes by such versions.
    "neurigraph.layer_packs",
    # A secret; the migration after a restore writes that of the new home.
    "neurigraph_private.claims_key",
)
_RESTORE_OPTIONS = ("--format=custom", "--exit-on-error", "--no-password")


def dump(url: str, snapshot: str | None = None) -> Iterator[bytes]:
    """Yield a dump of a database.

    Args:
        snapshot: Name of the exported snapshot that the dump shows, of a transaction that stays open until it ends.

    Raises:
        StorageError: The dump failed; the message has the reason.
    """
    without = [f"--exclude-table-data={table}" for table in _WITHOUT_ROWS]
    options = [*_DUMP_OPTIONS, *without, *([f"--snapshot={snapshot}"] if snapshot else [])]
    process, errors = _start("pg_dump", url, options, subprocess.PIPE)
    try:
        assert process.stdout is not None
        while piece := process.stdout.read(_PIECE_BYTES):
            yield piece
        _check(process, errors, "the database could not be dumped")
    finally:
        _end(process, errors)


def load(url: str, chunks: Iterable[bytes], role: str | None = None) -> None:
    """Restore a dump into an empty database, as a role if one is given.

    Raises:
        StorageError: The restore failed; the message has the reason. What was restored stays in the database.
    """
    options = [*_RESTORE_OPTIONS, *([f"--role={role}"] if role else [])]
    process, errors = _start("pg_restore", url, options, subprocess.DEVNULL)
    try:
        assert process.stdin is not None
        try:
            for piece in chunks:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:  # it has failed: the reason is in its output
            pass
        _check(process, errors, "the database could not be restored")
    finally:
        _end(process, errors)


def _start(program: str, url: str, options: Iterable[str], output: int) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a program. The password is in its environment: everybody can read its arguments."""
    parts = conninfo_to_dict(url)
    password = parts.pop("password", None)
    environment = {**os.environ, "LC_ALL": "C", **({"PGPASSWORD": str(password)} if password else {})}
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    try:
        process = subprocess.Popen(  # noqa: S603 - a program of the installation, never a shell line
            [str(client_program(program)), *options, f"--dbname={make_conninfo('', **parts)}"],
            env=environment,
            stdin=subprocess.PIPE if output == subprocess.DEVNULL else subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    except OSError as error:
        errors.close()
        raise ConfigurationError(
            f"{program} cannot be run ({error.strerror}): install the requirements again"
        ) from error
    return process, errors


def _check(process: subprocess.Popen[bytes], errors: IO[bytes], complaint: str) -> None:
    if process.wait() != 0:
        errors.seek(0)
        lines = [line for line in errors.read().decode(errors="replace").splitlines() if "error" in line]
        reason = lines[0] if lines else f"it ended with status {process.returncode}"
        remedy = ": raise max_locks_per_transaction" if "out of shared memory" in reason else ""
        raise StorageError(f"{complaint} ({reason[:500]}){remedy}")


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    if process.poll() is None:
        process.kill()
    process.wait()
    errors.close()
