"""The files of a record in the object store: the transcript of its segment, and the original of an upload.

Writes objects and verifies them; ``commit`` writes the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.lifecycle.object_keys import active_key, original_key, record_of
from neurigraph_pipelines.model import Segment, StoredObject
from neurigraph_pipelines.model.errors import DamagedObjectError
from neurigraph_pipelines.model.ports import ObjectStore
from neurigraph_pipelines.text.media_types import HEAD_BYTES, media_type_of
from neurigraph_pipelines.text.stored_text import compress, decompress
from neurigraph_pipelines.text.transcript import Layout, TranscriptWriter


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One stored file, ready for the manifest.

    Attributes:
        kind: Distinguishes the files of one record.
        name: File name for people; None to derive it from the record's title.
        size_bytes: Size of the uncompressed content.
        content_sha256: Digest of the uncompressed content.
        layout: Offsets for reading passages; empty for a file that is only read whole.
    """

    kind: Literal["transcript", "original"]
    name: str | None
    file_type: str
    compression: Literal["gzip", "native"]
    durable: StoredObject
    size_bytes: int
    content_sha256: bytes
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, slots=True)
class Original:
    """A staged upload that waits for its record."""

    source_id: UUID
    file_name: str
    size_bytes: int
    sha256: bytes
    staging_key: str

    @classmethod
    def of_row(cls, row: DictRow) -> Original:
        """Build from a row of ``uploads``."""
        return cls(**row)


def write_transcript(objects: ObjectStore, writer: TranscriptWriter, part: Segment, key: str) -> StoredFile:
    """Write a transcript's durable object and its working copy.

    Raises:
        StorageError: An object could not be written, or reads back differently.
    """
    layout = Layout()
    durable = _put_verified(objects, key, writer.members(part, layout))
    text = objects.put(active_key(key), decompress(objects.get(key)))
    digest = bytes.fromhex(text.sha256)
    return StoredFile("transcript", None, "transcript", "gzip", durable, layout.text_bytes, digest, layout)


def write_original(objects: ObjectStore, original: Original, transcript_key: str, gzip_level: int) -> StoredFile:
    """Copy a staged upload next to its transcript, piece by piece.

    A compressible file gets a gzip durable object and a working copy. For a file that is compressed already, the
    durable object is also the working copy.

    Raises:
        StorageError: An object could not be written, or the staged bytes have changed since the upload.
    """
    head = objects.get_range(original.staging_key, 0, min(HEAD_BYTES, original.size_bytes))
    media = media_type_of(head, original.file_name)
    key = original_key(transcript_key, media.compressible)
    content = _checked(objects.get(original.staging_key), original)
    if media.compressible:
        durable = _put_verified(objects, key, compress(content, gzip_level))
        objects.put(active_key(key), objects.get(original.staging_key))
    else:
        durable = _put_verified(objects, key, content)
    return StoredFile(
        "original",
        original.file_name,
        media.file_type,
        "gzip" if media.compressible else "native",
        durable,
        original.size_bytes,
        original.sha256,
    )


def remove(objects: ObjectStore, transcript_key: str) -> None:
    """Remove every object that a record with this key may have; missing objects are no error."""
    originals = (original_key(transcript_key, compressed) for compressed in (True, False))
    for key in (transcript_key, *originals):
        objects.delete(active_key(key))
        objects.delete(key)


def _put_verified(objects: ObjectStore, key: str, chunks: Iterable[bytes]) -> StoredObject:
    durable = objects.put(key, chunks)
    found = hashlib.sha256()
    for chunk in objects.get(key):
        found.update(chunk)
    if found.hexdigest() != durable.sha256:
        raise DamagedObjectError(f"an object of record {record_of(key)} reads back differently from what was written")
    return durable


def _checked(chunks: Iterable[bytes], original: Original) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.digest() != original.sha256:
        raise DamagedObjectError("the file has changed since it was uploaded: upload it again")
