"""Files on the local disk that survive a crash whole or not at all.

What they hold belongs to the modules that write them.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make names that were added to, moved within or removed from ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that only its owner reads: all or nothing, durable on return.

    Raises:
        OSError: It could not be written; what was there is still there.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    new.rename(path)
    sync_folder(path.parent)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, however many processes write it at the same time.

    Raises:
        OSError: It could not be written; what was there is still there.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
