"""A stream in files, which are in a folder or a zip file: written one by one, and verified before a restore.

Each part is a file; the header and the ending are the manifest, with the size and checksum of every file.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from neurigraph_pipelines.exchange.portability.stream import (
    OBJECTS,
    Ending,
    Hashed,
    Header,
    Stream,
    StreamPart,
    is_part,
)
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.zip_limits import MAX_ARCHIVE_RATIO, READ_ERRORS, UNSUSPICIOUS_BYTES

MANIFEST = "manifest.json"
FORMAT = "neurigraph-export"
_MAX_MANIFEST_BYTES = 256 << 20
_PIECE_BYTES = 1 << 20
_READ_ERRORS = (*READ_ERRORS, NotImplementedError, RuntimeError, KeyError)

_Form = TypeVar("_Form", bound=BaseModel)

OpenFile = Callable[[str], IO[bytes]]
"""Opens the file of an export by its name."""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file of an export; ``sha256`` is the checksum of its bytes, in hex."""

    name: str
    size_bytes: int
    sha256: str


class _Files(BaseModel):
    files: list[ArchiveEntry]


class ArchiveWriter:
    """Writes the files of an export.

    Attributes:
        entries: Files written so far.
    """

    def __init__(self, open_file: OpenFile) -> None:
        self._open = open_file
        self.entries: list[ArchiveEntry] = []

    def write(self, stream: Stream) -> Generator[int]:
        """Write a stream, and yield the size of each piece after writing it."""
        for part in stream.parts():
            yield from self.add(part)
        self.finish({"format": FORMAT, **stream.header().model_dump(), **stream.ending().model_dump()})

    def add(self, part: StreamPart) -> Iterator[int]:
        """Write a file, and yield the size of each piece after writing it."""
        hashed = Hashed(part.chunks)
        with self._open(part.name) as file:
            for chunk in hashed:
                file.write(chunk)
                yield len(chunk)
        self.entries.append(ArchiveEntry(part.name, hashed.size_bytes, hashed.sha256))

    def finish(self, manifest: Mapping[str, object]) -> None:
        """Write the manifest with the list of all files. An export without a manifest is not valid."""
        text = json.dumps({**manifest, "files": [asdict(entry) for entry in self.entries]}, indent=1, default=str)
        with self._open(MANIFEST) as file:
            file.write(text.encode())


def folder_writer(folder: Path) -> ArchiveWriter:
    """Return the writer of an export in an empty folder."""

    def open_file(name: str) -> IO[bytes]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb")

    return ArchiveWriter(open_file)


@contextmanager
def zip_writer(stream: IO[bytes]) -> Iterator[ArchiveWriter]:
    """Open the writer of an export as a zip file to a stream, which need not be seekable."""

    def open_file(name: str) -> IO[bytes]:
        member = zipfile.ZipInfo(name)
        # Stored objects are compressed already, as far as that helps.
        member.compress_type = zipfile.ZIP_STORED if name.startswith(OBJECTS) else zipfile.ZIP_DEFLATED
        member.external_attr = 0o600 << 16
        return members.open(member, "w", force_zip64=True)

    with closing(zipfile.ZipFile(stream, "w")) as members:
        yield ArchiveWriter(open_file)


@contextmanager
def new_archive(target: Path) -> Iterator[ArchiveWriter]:
    """Write an export beside ``target``, and rename the complete file to ``target``. An error leaves no files.

    Args:
        target: A name ending in ``.zip`` creates a zip file, any other a folder. Only the current user can read it.

    Raises:
        ConflictError: ``target`` exists.
        InvalidInputError: ``target`` cannot be written.
    """
    if target.suffix.lower() == ".zip":
        with new_file(target) as stream, zip_writer(stream) as archive:
            yield archive
        return
    with _draft_of(target) as draft:
        draft.mkdir(mode=0o700)
        yield folder_writer(draft)
        os.sync()  # one call is cheaper than one for each of many files


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """Write a file beside ``target``, and rename it when it is complete; errors are those of ``new_archive``."""
    with (
        _draft_of(target) as draft,
        os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream,
    ):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _draft_of(target: Path) -> Iterator[Path]:
    if target.exists() or target.is_symlink():
        raise ConflictError(f"{target} is there already: give another file or folder")
    draft = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
    try:
        yield draft
        draft.rename(target)
    except OSError as error:
        raise InvalidInputError(f"{target} cannot be written ({error.strerror}): give another path.") from error
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


class ArchiveReader(Stream):
    """Reads the files of an export.

    Attributes:
        sizes: Sizes of all files of a zip file, those that the manifest does not name among them.
    """

    def __init__(self, open_file: OpenFile, sizes: Mapping[str, int] = MappingProxyType({})) -> None:
        self._open = open_file
        self.sizes = sizes

    def header(self) -> Header:
        """Return the header, which is in the manifest. It raises InvalidInputError if that is damaged."""
        return _stated(Header, self.manifest())

    def ending(self) -> Ending:
        """Return the ending, which is in the manifest. It raises InvalidInputError if that is damaged."""
        return _stated(Ending, self.manifest())

    def manifest(self) -> JsonObject:
        """Return the manifest.

        Raises:
            InvalidInputError: The manifest is missing or unreadable, or is not that of an export.
        """
        try:
            with self._open(MANIFEST) as file:
                found = json.loads(file.read(_MAX_MANIFEST_BYTES))
        except (*_READ_ERRORS, ValueError, RecursionError) as error:
            raise InvalidInputError(f"the export has no readable {MANIFEST} ({error}): export it again") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInputError(f"its {MANIFEST} is not that of a Neurigraph export")
        return found

    @cached_property
    def entries(self) -> dict[str, ArchiveEntry]:
        """The files in the manifest by name. It raises InvalidInputError if the manifest is damaged."""
        return {entry.name: entry for entry in _stated(_Files, self.manifest()).files}

    def size_bytes(self) -> int:
        """Return the size of all files together."""
        return sum(entry.size_bytes for entry in self.entries.values())

    def parts(self) -> Iterator[StreamPart]:
        """Yield the files, rows before objects."""
        for name in sorted(self.entries, key=lambda name: name.startswith(OBJECTS)):
            yield StreamPart(name, self._chunks(name))

    def verify(self, on_bytes: Callable[[int], None]) -> None:
        """Read every file once and compare it with the manifest.

        Raises:
            InvalidInputError: A file is missing or damaged; the message names it.
        """
        for entry in self.entries.values():
            if not is_part(entry.name):
                raise InvalidInputError(f"the export names a file {entry.name[:80]!r}, which is not a valid name")
            hashed = Hashed(self._chunks(entry.name), on_bytes)
            try:
                for _ in hashed:
                    if hashed.size_bytes > entry.size_bytes:
                        break
            except _READ_ERRORS as error:
                raise InvalidInputError(
                    f"{entry.name} of the export cannot be read ({error}): export it again"
                ) from error
            if (hashed.size_bytes, hashed.sha256) != (entry.size_bytes, entry.sha256):
                raise InvalidInputError(f"{entry.name} of the export is damaged: export it again")

    def _chunks(self, name: str) -> Iterator[bytes]:
        with self._open(name) as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece


def _stated(form: type[_Form], manifest: JsonObject) -> _Form:
    try:
        return form.model_validate(manifest)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))[:100]
        raise InvalidInputError(f"{MANIFEST} of the export is damaged ({place}): export it again") from error


@contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """Open an export for reading.

    Raises:
        InvalidInputError: There is no readable export at that path.
    """
    try:
        folder = path.resolve()
        file = None if path.is_dir() else path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise InvalidInputError(f"{path} is not a readable export ({error}): export it again") from error

    def open_file(name: str) -> IO[bytes]:
        if (folder / name).resolve() != folder / name:
            raise OSError("it is a link")
        return (folder / name).open("rb")

    if file is None:
        yield ArchiveReader(open_file)
        return
    with file, open_zip(file, str(path)) as archive:
        yield archive


@contextmanager
def open_zip(file: IO[bytes], name: str) -> Iterator[ArchiveReader]:
    """Open the zip file of an archive for reading.

    Args:
        name: For messages.

    Raises:
        InvalidInputError: It is none, or would unpack to too much.
    """
    packed = file.seek(0, os.SEEK_END)
    try:
        members = zipfile.ZipFile(file)
    except _READ_ERRORS as error:
        raise InvalidInputError(f"{name} is not a readable export ({error}): export it again") from error
    with members:
        sizes = {member.filename: member.file_size for member in members.infolist()}
        unpacked = sum(member.file_size for member in members.infolist())
        if unpacked > max(MAX_ARCHIVE_RATIO * packed, UNSUSPICIOUS_BYTES):
            raise InvalidInputError(f"{name} would unpack to {unpacked:,} bytes, which is too much for its size")
        yield ArchiveReader(members.open, sizes)


def is_export(path: Path) -> bool:
    """Return whether a folder or a zip file has the manifest of a Neurigraph export."""
    try:
        with open_archive(path) as archive:
            archive.manifest()
    except InvalidInputError:
        return False
    return True
