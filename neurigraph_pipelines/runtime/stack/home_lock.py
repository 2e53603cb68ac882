"""The lock that lets one stack run on a home folder, and says where it runs.

The kernel releases the lock when its holders are gone, even by ``kill -9``. The keeper holds it too, so that the next
stack starts only when nothing is left of the last one.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from neurigraph_pipelines.model.errors import AlreadyRunningError

_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.1


class HomeLock:
    """The lock of one home folder, taken on construction. The file says which process runs, and where.

    Raises:
        AlreadyRunningError: Another stack runs on the home folder; the message says where.
    """

    def __init__(self, home: Path) -> None:
        self._file = home / "stack.lock"
        self.descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        deadline = time.monotonic() + _WAIT_SECONDS
        try:
            while not self._taken():
                running = self._read()
                # The keeper of an ended stack runs for a moment longer and cleans up.
                if _lives(running.get("pid")) or time.monotonic() > deadline:
                    raise AlreadyRunningError(_sentence(home, running))
                time.sleep(_POLL_SECONDS)
            self.write({})
        except BaseException:
            os.close(self.descriptor)
            raise

    def write(self, places: Mapping[str, str], parts: Mapping[str, int] | None = None) -> None:
        """Write this process, its addresses and the process ids of its parts into the file."""
        text = json.dumps({"pid": os.getpid(), **places, **({"parts": parts} if parts else {})}).encode()
        os.pwrite(self.descriptor, text, 0)
        os.ftruncate(self.descriptor, len(text))

    def release(self) -> None:
        """Release the lock as far as this process holds it."""
        os.close(self.descriptor)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _read(self) -> dict[str, object]:
        return _parsed(self._file.read_bytes())


def running_stack(home: Path) -> dict[str, object] | None:
    """Return the process and the addresses of the stack that runs on a home folder; None if none does."""
    try:
        with (home / "stack.lock").open("rb") as file:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            return _parsed(file.read())
    except FileNotFoundError:
        return None


def _parsed(text: bytes) -> dict[str, object]:
    with suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return {}


def _lives(pid: object) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sentence(home: Path, running: Mapping[str, object]) -> str:
    places = ", ".join(f"{name} {place}" for name, place in running.items() if name not in ("pid", "parts"))
    pid = running.get("pid")
    return (
        f"Neurigraph already runs on {home}: process {pid}{f' ({places})' if places else ''}. Stop it with "
        f"`kill {pid}`, or set NEURIGRAPH_HOME to another folder."
    )
