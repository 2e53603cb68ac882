"""The objects of one file, its durable object and its working copy, read and written with their checksums.

States and transactions belong in ``transitions``.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from tempfile import SpooledTemporaryFile
from typing import NamedTuple, TypeVar
from uuid import UUID
from weakref import finalize

from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model.errors import AbsentObjectError, DamagedObjectError, LostObjectError
from neurigraph_pipelines.model.ports import ObjectStore
from neurigraph_pipelines.text.stored_text import compress, decompress

_IN_MEMORY = 8 << 20  # larger contents go to a temporary file
_PIECE_BYTES = 1 << 20


class Manifest(NamedTuple):
    """A row of ``file_manifest``, without its lease."""

    file_id: UUID
    record_id: UUID
    file_name: str
    file_type: str
    storage_path: str
    compression_state: str
    compression_format: str
    size_bytes: int
    stored_bytes: int
    stored_sha256: bytes
    member_offsets: list[int]
    member_text_offsets: list[int]
    last_accessed_at: datetime
    recompress_after: datetime | None
    content_sha256: bytes | None
    last_failure: str | None


class VerifiedBytes:
    """Content that is read and hashed completely before it is served, from memory or a temporary file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        digest = hashlib.sha256()
        with ExitStack() as on_error:
            self._file = on_error.enter_context(SpooledTemporaryFile(_IN_MEMORY))
            for chunk in chunks:
                digest.update(chunk)
                self._file.write(chunk)
            finalize(self, on_error.pop_all().close)
        self.size_bytes = self._file.tell()
        self.sha256 = digest.digest()

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces. Several iterations may run at the same time."""
        position = 0
        while position < self.size_bytes:
            self._file.seek(position)
            piece = self._file.read(_PIECE_BYTES)
            position += len(piece)
            yield piece

    @property
    def content(self) -> bytes:
        """The whole content."""
        return b"".join(self.chunks())


REMEDY = (
    "`neurigraph admin verify --repair` puts back a lost object of which a copy is left, and importing again the others"
)
LostError = TypeVar("LostError", bound=LostObjectError)


def damaged(file_id: UUID) -> DamagedObjectError:
    """Return the error for an object that differs from the written one."""
    return _of_file(DamagedObjectError("is damaged: it is not served"), file_id)


def missing(file_id: UUID) -> AbsentObjectError:
    """Return the error for an object that is not there."""
    return _of_file(AbsentObjectError("is missing"), file_id)


def _of_file(error: LostError, file_id: UUID) -> LostError:
    """Return the same error with the id of the file, and the remedy."""
    found = type(error)(f"the object of file {file_id} {error}; {REMEDY}")
    found.file_id = file_id
    return found


def has_working_copy(manifest: Manifest) -> bool:
    """Return whether an active file has a working copy; files in native format need none."""
    return manifest.compression_format == "gzip"


def durable_content(objects: ObjectStore, manifest: Manifest) -> VerifiedBytes:
    """Return the content of a file from its durable object.

    Raises:
        LostObjectError: The object is missing or damaged.
    """
    return VerifiedBytes(_content(objects, manifest))


def working_content(objects: ObjectStore, manifest: Manifest) -> VerifiedBytes | None:
    """Return the content of an active file from its working copy; None if it is missing, damaged or unverifiable."""
    try:
        content = VerifiedBytes(objects.get(active_key(manifest.storage_path)))
    except LostObjectError:
        return None
    return content if content.sha256 == manifest.content_sha256 else None


def make_working_copy(objects: ObjectStore, manifest: Manifest, on_piece: Callable[[], None]) -> bytes:
    """Verify the durable object, and write the working copy if the file has one.

    Args:
        on_piece: Called after each piece that was read.

    Returns:
        SHA-256 digest of the content.

    Raises:
        LostObjectError: The durable object is missing or damaged; no copy is left.
        StorageError: The copy could not be written; no copy is left.
    """

    def pieces() -> Iterator[bytes]:
        for piece in _content(objects, manifest):
            on_piece()
            yield piece

    if not has_working_copy(manifest):
        for _ in pieces():
            pass
        return manifest.stored_sha256
    key = active_key(manifest.storage_path)
    digest = bytes.fromhex(objects.put(key, pieces()).sha256)
    if manifest.content_sha256 not in (None, digest):
        objects.delete(key)
        raise damaged(manifest.file_id)
    return digest


def remake_durable(objects: ObjectStore, manifest: Manifest, content: VerifiedBytes | None = None) -> bool:
    """Write the durable object again from its content, if that reproduces the lost bytes exactly.

    The compression level is not recorded, so all levels are tried. Only bytes with the recorded checksum are written.

    Args:
        content: The stored bytes; by default those of the working copy.
    """
    content = content or working_content(objects, manifest)
    if content is None:
        return False
    for level in range(1, 10) if has_working_copy(manifest) else (0,):
        if VerifiedBytes(_packed(manifest, content, level)).sha256 == manifest.stored_sha256:
            objects.put(manifest.storage_path, _packed(manifest, content, level))
            return True
    return False


def move_to_cold_storage(objects: ObjectStore, manifest: Manifest) -> None:
    """Verify the durable object and move it to cold storage, then delete the working copy.

    Raises:
        LostObjectError: The durable object is missing or damaged. The working copy stays, since it may be the only one.
    """
    for _ in _checked(objects, manifest):
        pass
    objects.move_to_cold(manifest.storage_path)
    if has_working_copy(manifest):
        objects.delete(active_key(manifest.storage_path))


def _packed(manifest: Manifest, content: VerifiedBytes, level: int) -> Iterator[bytes]:
    """Yield the stored bytes: in the gzip members that the manifest lists, in one member, or uncompressed."""
    if not has_working_copy(manifest):
        yield from content.chunks()
        return
    starts = manifest.member_text_offsets
    if not starts:
        yield from compress(content.chunks(), level)
        return
    text = content.content
    for start, end in pairwise([*starts, len(text)]):
        yield from compress([text[start:end]], level)


def _content(objects: ObjectStore, manifest: Manifest) -> Iterator[bytes]:
    stored = _checked(objects, manifest)
    if manifest.compression_format == "native":
        yield from stored
        return
    try:
        yield from decompress(stored)
    except zlib.error as error:
        raise damaged(manifest.file_id) from error


def _checked(objects: ObjectStore, manifest: Manifest) -> Iterator[bytes]:
    """Yield the durable object as it is stored, and raise an error at its end if its checksum is wrong."""
    digest = hashlib.sha256()
    try:
        for chunk in objects.get(manifest.storage_path):
            digest.update(chunk)
            yield chunk
    except AbsentObjectError as error:
        raise missing(manifest.file_id) from error
    if digest.digest() != manifest.stored_sha256:
        raise damaged(manifest.file_id)
