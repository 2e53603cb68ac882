"""Durable, atomic writes of local files: after a crash a file is complete or absent."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
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


def new_secret() -> str:
    """Return a line of 384 random bits."""
    return secrets.token_urlsafe(48) + "\n"


def kept_secret(path: Path) -> str:
    """Return the secret in a file, made if absent; two processes that make it at once read the same secret.

    Raises:
        OSError: The file could not be read or made.
    """
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        pass
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(new_secret())
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # unlike a rename, a link never replaces the file of another process
        path.hardlink_to(draft)
    draft.unlink()
    return path.read_text(encoding="utf-8").strip()


def write_whole(file: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only, even if several processes write it at the same time.

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
