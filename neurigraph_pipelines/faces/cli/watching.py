"""``import --watch``: imports the files of a folder, and changed files again, until it is stopped."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, TransientError

_SECONDS_BETWEEN_LOOKS = 1.0
_Version = tuple[int, int]
"""Size and time of the last change, in nanoseconds since 1970."""


def watch(folder: Path, settle_seconds: float, import_one: Callable[[Path], None]) -> None:
    """Import each file below a folder, and each again that changes, until SIGINT or SIGTERM.

    What has been imported is kept in memory only: after a restart all files are imported again, which adds nothing
    twice. A file that cannot be imported is noted, and tried again when it changes. Links are skipped, and so are
    names that begin with a dot.

    Args:
        folder: Must exist.
        settle_seconds: A file counts as complete this long after its last change.
        import_one: Imports a file.

    Raises:
        InvalidInputError: The folder is none, or cannot be read.
    """
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    done: dict[Path, _Version] = {}
    _require_folder(folder)
    output.note(f"watching {folder}: press Ctrl-C to stop")
    while not stopped.is_set():
        for file, version in _complete_files(folder, time.time() - settle_seconds):
            if stopped.is_set():
                break
            if done.get(file) == version:
                continue
            try:
                import_one(file)
            except TransientError as error:
                output.note(f"not imported yet: {file}: {error}")
                continue
            except (NeurigraphError, OSError) as error:
                output.note(f"not imported: {file}: {error}")
            except typer.Exit:  # what was rejected has been noted
                pass
            done[file] = version
        stopped.wait(_SECONDS_BETWEEN_LOOKS)


def _require_folder(folder: Path) -> None:
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise InvalidInputError(f"{folder} cannot be watched ({error.strerror}): give a folder.") from error


def _complete_files(folder: Path, oldest_change: float) -> Iterator[tuple[Path, _Version]]:
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            try:
                status = file.lstat()
            except OSError:  # it has been removed
                continue
            if not name.startswith(".") and stat.S_ISREG(status.st_mode) and status.st_mtime <= oldest_change:
                yield file, (status.st_size, status.st_mtime_ns)
