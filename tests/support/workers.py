"""Worker processes of `neurigraph admin worker`, each in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from neurigraph_pipelines.runtime.stack.services import installed_program


class Workers:
    """The workers of a test, which execute one run at once; call ``close`` at the end.

    Args:
        folder: Where their log goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> int:
        """Start a worker; return its process id."""
        with (self._folder / "workers.log").open("ab") as log:
            command = [str(installed_program("neurigraph")), "admin", "worker", "--runs", "1"]
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self._running[process.pid] = process
        return process.pid

    def kill(self, worker: int) -> None:
        """Kill a worker and all of its processes at once, as a power cut does."""
        os.killpg(worker, signal.SIGKILL)
        self._running.pop(worker).wait()

    def close(self) -> None:
        """Kill those that are left."""
        for worker in list(self._running):
            self.kill(worker)
