"""A backup or a restore that stops at a chosen stage, for tests to kill.

Run as ``python -m tests.support.pausing_backup backup|restore FOLDER STAGE AFTER_BYTES``; prints ``paused`` in that
stage, after at least so many bytes of it. The environment names the installation.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from neurigraph_pipelines.runtime.stack.backup.create import BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.wiring.installation import Installation


class Pause:
    """Pauses for good once the stage has come so far."""

    def __init__(self, stage: str, after_bytes: int) -> None:
        self._stage, self._after = stage, after_bytes
        self._here, self._bytes = "", 0
        self._lock = threading.Lock()  # a restore writes with several threads

    def stage(self, name: str) -> None:
        self._here = name
        self._bytes = 0
        self._look()

    def count(self, more: int) -> None:
        self._bytes += more
        self._look()

    def _look(self) -> None:
        with self._lock:
            if self._here == self._stage and self._bytes >= self._after:
                print("paused", flush=True)
                threading.Event().wait()


def main() -> None:
    what, folder, stage, after_bytes = sys.argv[1:]
    pause = Pause(stage, int(after_bytes))
    listener = BackupListener(pause.stage, pause.count)
    with Installation() as installation:
        if what == "backup":
            back_up(installation, BackupFolder(Path(folder), None), None, listener)
        else:
            restore(installation, BackupFolder(Path(folder), None), None, False, listener)


if __name__ == "__main__":
    main()
