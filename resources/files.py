"""Durable, atomic writes of local files: after a crash a file is complete or absent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make additions, renames and removals in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically with one that only its owner can read; durable on return.

    Raises:
        OSError: The file could not be written; the old one is unchanged.
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
    """Write a file atomically, even if several processes write it at the same time.

    Raises:
        OSError: The file could not be written; the old one is unchanged.
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
