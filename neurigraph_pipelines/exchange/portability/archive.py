"""The files of an export, in a folder or a zip file: written one by one, and verified before a restore.

This module knows names, sizes and checksums. ``export`` and ``restore`` know the contents.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.text.zip_limits import MAX_ARCHIVE_RATIO, READ_ERRORS, UNSUSPICIOUS_BYTES

MANIFEST = "manifest.json"
FORMAT = "neurigraph-export"
OBJECTS = "objects/"
"""Folder of the stored files; below it follow their object keys."""

_MAX_MANIFEST_BYTES = 256 << 20
_PIECE_BYTES = 1 << 20
_NAME = re.compile(
    r"tables/[a-z_]+\.jsonl|nodes/[0-9a-f-]{36}/[a-z_]+\.jsonl|objects/(?:durable|staging)(?:/[A-Za-z0-9._-]+)+"
)
_READ_ERRORS = (*READ_ERRORS, NotImplementedError, RuntimeError, KeyError)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an export; ``sha256`` is the checksum of its bytes, in hex."""

    name: str
    size_bytes: int
    sha256: str


class ArchiveWriter(ABC):
    """Writes the files of an export.

    Attributes:
        entries: Files written so far.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, name: str, chunks: Iterable[bytes]) -> Iterator[int]:
        """Write a file, and yield the size of each piece after writing it."""
        digest, size = hashlib.sha256(), 0
        with self._open(name) as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                yield len(chunk)
        self.entries.append(Entry(name, size, digest.hexdigest()))

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest with the list of all files. An export without a manifest is not valid."""
        text = json.dumps({**manifest, "files": [asdict(entry) for entry in self.entries]}, indent=1, default=str)
        with self._open(MANIFEST) as file:
            file.write(text.encode())

    @abstractmethod
    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a new file for writing."""


class FolderWriter(ArchiveWriter):
    """Writes an export into an empty folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb")


class ZipWriter(ArchiveWriter):
    """Writes an export as a zip file to a stream, which need not be seekable."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._zip = zipfile.ZipFile(stream, "w")

    def close(self) -> None:
        """Write the central directory of the zip file."""
        self._zip.close()

    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        member = zipfile.ZipInfo(name)
        # Stored objects are compressed already, as far as that helps.
        member.compress_type = zipfile.ZIP_STORED if name.startswith(OBJECTS) else zipfile.ZIP_DEFLATED
        member.external_attr = 0o600 << 16
        return self._zip.open(member, "w", force_zip64=True)


@contextmanager
def new_archive(target: Path) -> Iterator[ArchiveWriter]:
    """Write an export beside ``target``, and rename it to ``target`` once it is complete. An error leaves no files.

    Args:
        target: A name ending in ``.zip`` creates a zip file, any other a folder. Only the current user can read it.

    Raises:
        ConflictError: ``target`` exists.
        InvalidInputError: ``target`` cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise ConflictError(f"{target} is there already: give another file or folder")
    draft = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        if target.suffix.lower() == ".zip":
            with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                with closing(ZipWriter(stream)) as archive:
                    yield archive
                stream.flush()
                os.fsync(stream.fileno())
        else:
            draft.mkdir(mode=0o700)
            yield FolderWriter(draft)
            os.sync()  # one call is cheaper than one for each of many files
        draft.rename(target)
    except OSError as error:
        raise InvalidInputError(f"{target} cannot be written ({error.strerror}): give another path.") from error
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


class ArchiveReader(ABC):
    """Reads the files of an export."""

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self) -> dict[str, Entry]:
        """Return the files in the manifest by name.

        Raises:
            InvalidInputError: The manifest is damaged.
        """
        try:
            found = [Entry(**file) for file in self.manifest()["files"]]
            if not all(isinstance(entry.name, str) and isinstance(entry.size_bytes, int) for entry in found):
                raise TypeError("a file without a name or a size")
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"{MANIFEST} of the export is damaged ({error!r}): export it again") from error
        return {entry.name: entry for entry in found}

    def size_bytes(self) -> int:
        """Return the size of all files together."""
        return sum(entry.size_bytes for entry in self.entries().values())

    def manifest(self) -> dict[str, Any]:
        """Return the manifest.

        Raises:
            InvalidInputError: The manifest is missing or unreadable, or is not that of an export.
        """
        try:
            with self.open(MANIFEST) as file:
                found = json.loads(file.read(_MAX_MANIFEST_BYTES))
        except (*_READ_ERRORS, ValueError, RecursionError) as error:
            raise InvalidInputError(f"the export has no readable {MANIFEST} ({error}): export it again") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInputError(f"its {MANIFEST} is not that of a Neurigraph export")
        return found

    def check(self, entries: Iterable[Entry], on_bytes: Callable[[int], None]) -> None:
        """Read every file once and compare it with the manifest.

        Raises:
            InvalidInputError: A file is missing or damaged; the message names it.
        """
        for entry in entries:
            if not _NAME.fullmatch(entry.name) or {".", ".."} & set(entry.name.split("/")):
                raise InvalidInputError(f"the export names a file {entry.name[:80]!r}, which is not a valid name")
            digest, size = hashlib.sha256(), 0
            try:
                with self.open(entry.name) as file:
                    while size <= entry.size_bytes and (piece := file.read(_PIECE_BYTES)):
                        digest.update(piece)
                        size += len(piece)
                        on_bytes(len(piece))
            except _READ_ERRORS as error:
                raise InvalidInputError(
                    f"{entry.name} of the export cannot be read ({error}): export it again"
                ) from error
            if (size, digest.hexdigest()) != (entry.size_bytes, entry.sha256):
                raise InvalidInputError(f"{entry.name} of the export is damaged: export it again")

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces."""
        with self.open(name) as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    @abstractmethod
    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""

    @abstractmethod
    def close(self) -> None:
        """Close open files."""


class _FolderReader(ArchiveReader):
    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def open(self, name: str) -> IO[bytes]:
        path = self._folder / name
        if path.resolve() != path:
            raise OSError("it is a link")
        return path.open("rb")

    def close(self) -> None:
        """Do nothing, since no file stays open."""


class _ZipReader(ArchiveReader):
    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        unpacked = sum(member.file_size for member in self._zip.infolist())
        if unpacked > max(MAX_ARCHIVE_RATIO * path.stat().st_size, UNSUSPICIOUS_BYTES):
            raise InvalidInputError(f"{path} would unpack to {unpacked:,} bytes, which is too much for its size")

    def open(self, name: str) -> IO[bytes]:
        return self._zip.open(name)

    def close(self) -> None:
        self._zip.close()


def open_archive(path: Path) -> ArchiveReader:
    """Open an export for reading.

    Raises:
        InvalidInputError: There is no readable export at that path.
    """
    try:
        return _FolderReader(path) if path.is_dir() else _ZipReader(path)
    except (*_READ_ERRORS, ValueError) as error:  # ValueError: a NUL byte in the path
        raise InvalidInputError(f"{path} is not a readable export ({error}): export it again") from error


def is_export(path: Path) -> bool:
    """Return whether a folder or a zip file has the manifest of a Neurigraph export."""
    try:
        with open_archive(path) as archive:
            archive.manifest()
    except InvalidInputError:
        return False
    return True
