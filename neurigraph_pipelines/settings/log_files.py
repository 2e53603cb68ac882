"""Rotation of log files that running processes append to."""

from __future__ import annotations

import contextlib
import os
import shutil
from itertools import pairwise
from pathlib import Path

LOG_BYTES = 10_000_000
OLD_LOGS = 2


def rotate_all(folder: Path) -> None:
    """Rotate the logs of a folder that have grown too long."""
    for log in folder.glob("*.log"):
        rotate(log)


def rotate(log: Path, most_bytes: int = LOG_BYTES) -> None:
    """Move the content of a log that has grown too long to ``.1``, and that of ``.1`` to ``.2``.

    The writers keep their open file, so its content is copied and the file truncated; they append, and continue at its
    new end. A line that is written between the two steps is lost. On a full disk the content is dropped.
    """
    with contextlib.suppress(OSError):
        if log.stat().st_size <= most_bytes:
            return
        old = [log.with_name(f"{log.name}.{number}") for number in range(1, OLD_LOGS + 1)]
        try:
            for newer, older in reversed(list(pairwise(old))):
                if newer.exists():
                    newer.replace(older)
            shutil.copyfile(log, old[0])
            old[0].chmod(0o600)
        except OSError:
            old[0].unlink(missing_ok=True)
        os.truncate(log, 0)
