"""Finds and ends processes by an environment variable, which descendants inherit even when their parent is gone.

Imports nothing but the standard library, because the keeper waits in it for as long as the stack runs.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "NEURIGRAPH_STACK"
_POLL_SECONDS = 0.02


def marked(mark: str) -> list[int]:
    """Return the ids of the processes whose environment has a variable that begins with ``mark``; only on Linux."""
    found = []
    wanted = b"\0" + mark.encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if wanted in b"\0" + (process / "environ").read_bytes() and state != "Z":
                found.append(int(process.name))
    return [pid for pid in found if pid != os.getpid()]


def kill_marked(mark: str, *, grace_seconds: float = 0.0) -> int:
    """End all marked processes: by SIGINT if there is a grace period, then by SIGKILL, until none is left.

    Returns:
        How many there were at first.
    """
    with killed_after(mark) as first:
        if grace_seconds:
            _signal(first, signal.SIGINT)
            deadline = time.monotonic() + grace_seconds
            while marked(mark) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
    return len(first)


@contextlib.contextmanager
def killed_after(mark: str) -> Iterator[list[int]]:
    """Kill all marked processes after the block, and wait until they have closed their files, such as locks.

    A dying process loses its environment before it closes its files. So processes that were there at the start of the
    block are waited for, however they ended.

    Yields:
        The ids of the processes at the start of the block.
    """
    first = marked(mark)
    with contextlib.ExitStack() as opened:
        seen = _descriptors(first, opened)
        yield first
        while left := marked(mark):  # one of them may have started another
            seen += _descriptors(left, opened)
            _signal(left, signal.SIGKILL)
            time.sleep(_POLL_SECONDS)
        for descriptor in seen:
            _wait(descriptor)


def _descriptors(pids: list[int], opened: contextlib.ExitStack) -> list[int]:
    """Return descriptors of processes, which become readable at their ends; closed with ``opened``."""
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            found.append(os.pidfd_open(pid))
            opened.callback(os.close, found[-1])
    return found


def _wait(descriptor: int) -> None:
    ended = select.poll()
    ended.register(descriptor, select.POLLIN)
    ended.poll()


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
