"""Find the running server of a data folder without connecting to it.

A process id alone is not proof, because another process may reuse the id of a dead server. A server and its backends
have their data folder as working folder, which identifies them. ``postgres.embedded`` starts and stops the server.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Postmaster:
    """The main process of a server; ``ready`` when it accepts connections."""

    pid: int
    port: int | None
    started_at: datetime | None
    ready: bool


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the running server of a data folder in any state; None if ``postmaster.pid`` is absent or stale."""
    try:
        text = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines()]
        pid = abs(int(lines[0]))
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if not works_in(pid, data):
        return None
    try:
        # Lines of pidfile.h: process id, folder, start, port, socket folder, address, shared memory, state.
        started_at, port = datetime.fromtimestamp(int(lines[2]), UTC), int(lines[3])
    except (IndexError, ValueError, OverflowError):
        return Postmaster(pid, None, None, ready=False)
    return Postmaster(pid, port, started_at, ready=lines[7:8] == ["ready"])


def works_in(pid: int, folder: Path) -> bool:
    """Whether a process is running whose working folder is ``folder``."""
    try:
        if sys.platform == "linux":
            current = Path(f"/proc/{pid}/cwd").readlink()
        else:
            command = ["/usr/sbin/lsof", "-a", "-p", str(pid), "-d", "cwd", "-Fn"]
            listing = subprocess.run(command, capture_output=True, check=False).stdout  # noqa: S603
            current = Path(os.fsdecode(listing.rpartition(b"\nn")[2].strip()))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return current == folder.resolve()


def postgres_processes(data: Path) -> list[int]:
    """Return the ids of all Postgres processes that work in a data folder; empty except on Linux."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            program = (process / "exe").readlink().name
            if program.startswith("postgres") and works_in(int(process.name), data):
                found.append(int(process.name))
    return found
