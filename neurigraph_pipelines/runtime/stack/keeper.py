"""The process that cleans up when another ended without doing so, such as by ``kill -9``.

It waits until its standard input closes, which the kernel does for every kind of end. Then it ends all processes that
carry the stack's mark, and stops embedded servers that nothing uses. It imports little before that, since it waits
as long as the stack runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from neurigraph_pipelines.runtime.stack.marks import VARIABLE, kill_marked

GRACE_SECONDS = 10.0
"""Seconds that processes of a killed stack get to end by themselves."""


class Keeper:
    """A keeper of this process. A context manager; the keeper ends with the block and does nothing.

    Args:
        homes: The home folders whose servers it stops.
        mark: The mark of the processes to end; None if there are none.
        held: Descriptors that the keeper holds until it is done, such as a lock.
    """

    def __init__(self, homes: Sequence[Path], mark: str | None, held: Sequence[int] = ()) -> None:
        self._command = [sys.executable, "-m", __name__, mark or "", *map(str, homes)]
        self._held = held
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.ensure()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def ensure(self) -> None:
        """Start the keeper unless it runs."""
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._process.communicate()
        self._process = subprocess.Popen(  # noqa: S603 - this module
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=self._held,
            cwd="/",
            # A keeper of one process of a stack outlives the stack's, which ends all processes with the stack's mark.
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
        )


def main(mark: str, *homes: str) -> None:
    """Wait for the end of the process that started this one, and clean up after it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    if mark:
        kill_marked(mark, grace_seconds=GRACE_SECONDS)
    from neurigraph_pipelines.wiring.installation import stop_unused_server

    for home in homes:
        with suppress(Exception):  # there is nobody left to tell
            stop_unused_server(Path(home))


if __name__ == "__main__":
    main(*sys.argv[1:])
