"""The objects of one file: its durable object and the working copy beside it, read and written with their checksums.

Takes a row of ``file_manifest`` and knows nothing of states and transactions: those are for ``transitions``.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise
from tempfile import SpooledTemporaryFile
from typing import Any
from weakref import finalize

from neurigraph_pipelines.errors import DamagedObjectError, LostObjectError
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.ports import ObjectStore
from neurigraph_pipelines.text.stored_text import compress, decompress

_IN_MEMORY = 8 << 20  # what is larger waits in a temporary file
_PIECE_BYTES = 1 << 20


class VerifiedBytes:
    """Bytes that were checked before anybody sees them: read once, kept aside, and served from there."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        digest = hashlib.sha256()
        with ExitStack() as until_read:
            self._file = until_read.enter_context(SpooledTemporaryFile(_IN_MEMORY))
            for chunk in chunks:
                digest.update(chunk)
                self._file.write(chunk)
            finalize(self, until_read.pop_all().close)
        self.size_bytes = self._file.tell()
        self.sha256 = digest.digest()

    def chunks(self) -> Iterator[bytes]:
        """All of it from the beginning, piece by piece; as often as wanted, in turns if need be."""
        position = 0
        while position < self.size_bytes:
            self._file.seek(position)
            piece = self._file.read(_PIECE_BYTES)
            position += len(piece)
            yield piece

    @property
    def content(self) -> bytes:
        """All of it at once."""
        return b"".join(self.chunks())


def damaged(manifest: Mapping[str, Any]) -> DamagedObjectError:
    """The error of whoever finds that an object is not what was written."""
    return DamagedObjectError(f"the object of file {manifest['file_id']} is damaged: it is not served")


def has_working_copy(manifest: Mapping[str, Any]) -> bool:
    """Whether the file has one while it is active; of what is native the durable object is its own."""
    return bool(manifest["compression_format"] == "gzip")


def durable_content(objects: ObjectStore, manifest: Mapping[str, Any]) -> VerifiedBytes:
    """The content of a file from its durable object.

    Raises:
        LostObjectError: It is gone or damaged.
    """
    return VerifiedBytes(_content(objects, manifest))


def working_content(objects: ObjectStore, manifest: Mapping[str, Any]) -> VerifiedBytes | None:
    """The content of an active file from its working copy; None where that is gone, damaged or cannot be checked."""
    try:
        content = VerifiedBytes(objects.get(active_key(manifest["storage_path"])))
    except LostObjectError:
        return None
    return content if content.sha256 == manifest["content_sha256"] else None


def make_working_copy(objects: ObjectStore, manifest: Mapping[str, Any], on_piece: Callable[[], None]) -> bytes:
    """Check the durable object, and put the working copy beside it where the file has one.

    Args:
        on_piece: Called again and again while it lasts.

    Returns:
        Digest of the content.

    Raises:
        LostObjectError: The durable object is gone or damaged; there is no copy then.
        StorageError: The copy could not be written; there is none then.
    """

    def pieces() -> Iterator[bytes]:
        for piece in _content(objects, manifest):
            on_piece()
            yield piece

    if not has_working_copy(manifest):
        for _ in pieces():
            pass
        return bytes(manifest["stored_sha256"])
    key = active_key(manifest["storage_path"])
    digest = bytes.fromhex(objects.put(key, pieces()).sha256)
    if manifest["content_sha256"] not in (None, digest):
        objects.delete(key)
        raise damaged(manifest)
    return digest


def remake_durable(objects: ObjectStore, manifest: Mapping[str, Any]) -> bool:
    """Write the durable object once more from the working copy, if that gives byte for byte what was lost.

    The level that it was packed at is not on record, so all are tried; nothing is written that does not have the
    checksum on record.
    """
    content = working_content(objects, manifest)
    if content is None:
        return False
    for level in range(1, 10):
        if VerifiedBytes(_packed(manifest, content, level)).sha256 == manifest["stored_sha256"]:
            objects.put(manifest["storage_path"], _packed(manifest, content, level))
            return True
    return False


def put_to_sleep(objects: ObjectStore, manifest: Mapping[str, Any]) -> None:
    """Move the durable object to cold storage, and drop the working copy: not before the durable object was checked.

    Raises:
        LostObjectError: The durable object is gone or damaged: a working copy stays, it may be all there is.
    """
    for _ in _checked(objects, manifest):
        pass
    objects.move_to_cold(manifest["storage_path"])
    if has_working_copy(manifest):
        objects.delete(active_key(manifest["storage_path"]))


def _packed(manifest: Mapping[str, Any], content: VerifiedBytes, level: int) -> Iterator[bytes]:
    """The content as it was packed: in the members that the manifest knows of, or in one."""
    starts = manifest["member_text_offsets"]
    if not starts:
        yield from compress(content.chunks(), level)
        return
    text = content.content
    for start, end in pairwise([*starts, len(text)]):
        yield from compress([text[start:end]], level)


def _content(objects: ObjectStore, manifest: Mapping[str, Any]) -> Iterator[bytes]:
    stored = _checked(objects, manifest)
    if manifest["compression_format"] == "native":
        yield from stored
        return
    try:
        yield from decompress(stored)
    except zlib.error as error:
        raise damaged(manifest) from error


def _checked(objects: ObjectStore, manifest: Mapping[str, Any]) -> Iterator[bytes]:
    """The durable object as it lies; an error at its end unless its checksum is the one on record."""
    digest = hashlib.sha256()
    for chunk in objects.get(manifest["storage_path"]):
        digest.update(chunk)
        yield chunk
    if digest.digest() != manifest["stored_sha256"]:
        raise damaged(manifest)
