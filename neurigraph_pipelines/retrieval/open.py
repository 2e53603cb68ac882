"""Phase two: the bytes of exactly one file, or of single messages in it.

Reads the durable object, the whole or the members that hold a message: what was read is checked against what was
written before anybody sees it, which a working copy without checksums could not be.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.errors import NotFoundError, StorageError
from neurigraph_pipelines.ingestion.media_types import HEAD_BYTES, media_type_of
from neurigraph_pipelines.ingestion.stored_files import verify
from neurigraph_pipelines.ingestion.transcript import LINE_END, last_line, members_of, read_text, unpacked
from neurigraph_pipelines.model import Claims, Role
from neurigraph_pipelines.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.statements import statements

TRANSCRIPT_MEDIA_TYPE = "application/jsonl"

_QUERIES = statements("search")
_LINES = statements("open")


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file, verified; its content is read piece by piece, since an upload may be larger than memory."""

    file_id: UUID
    file_name: str
    media_type: str
    is_transcript: bool
    size_bytes: int
    chunks: Callable[[], Iterator[bytes]]

    @property
    def content(self) -> bytes:
        """All of it at once."""
        return b"".join(self.chunks())


@dataclass(frozen=True, slots=True)
class OpenedMessage:
    """One message out of a transcript, read by its bytes alone."""

    file_id: UUID
    seq: int
    role: Role
    author: str | None
    external_id: str | None
    occurred_at: datetime
    text: str


def open_file(
    database: Database, objects: ObjectStore, claims: Claims, file_id: UUID, *, as_text: bool = False
) -> OpenedFile:
    """The whole of one file; resets its dormancy clock.

    Args:
        as_text: Of an upload, the transcript of the text that was read out of it.

    Raises:
        NotFoundError: No such file, or not visible to whoever asks.
        StorageError: The bytes are gone or damaged; they are not served.
    """
    with database.agent(claims) as tx:
        schema, manifest = _manifest(tx, file_id)
        if as_text:
            manifest = _transcript_beside(tx, schema, file_id)
        tx.execute(_QUERIES["touch_file"].format(schema=schema), {"file_id": manifest["file_id"]})
    verify(objects, manifest)

    def chunks() -> Iterator[bytes]:
        stored = objects.get(manifest["storage_path"])
        return unpacked(stored) if manifest["compression_format"] == "gzip" else stored

    is_transcript = manifest["file_type"] == "transcript"
    name = manifest["file_name"]
    return OpenedFile(
        manifest["file_id"],
        name,
        TRANSCRIPT_MEDIA_TYPE if is_transcript else media_type_of(_head(chunks()), name).name,
        is_transcript,
        manifest["size_bytes"],
        chunks,
    )


def open_message(
    database: Database, objects: ObjectStore, claims: Claims, file_id: UUID, message: int
) -> OpenedMessage:
    """One message of a transcript; as ``open_messages``.

    Raises:
        NotFoundError: No such file or message, or not visible to whoever asks.
        StorageError: The bytes are gone or damaged; they are not served.
    """
    found = open_messages(database, objects, claims, file_id, [message])
    if not found:
        raise NotFoundError
    return found[0]


def open_messages(
    database: Database, objects: ObjectStore, claims: Claims, file_id: UUID, messages: Sequence[int]
) -> list[OpenedMessage]:
    """Single messages of a transcript, by the byte ranges of their lines; the rest of the file is not read.

    Args:
        file_id: Of the transcript, or of the original beside it.
        messages: Their numbers.

    Returns:
        Those that are there, by number. They alone make the file count as accessed.

    Raises:
        NotFoundError: No such file, or not visible to whoever asks.
        StorageError: The bytes are gone or damaged; they are not served.
    """
    with database.agent(claims) as tx:
        schema, _ = _manifest(tx, file_id)
        lines = tx.execute(
            _LINES["lines_of_messages"].format(schema=schema), {"file_id": file_id, "messages": list(messages)}
        ).fetchall()
        if not lines:
            return []
        tx.execute(_QUERIES["touch_file"].format(schema=schema), {"file_id": file_id})
        transcript = _transcript_beside(tx, schema, file_id)
    return [_message(objects, transcript, file_id, line) for line in lines]


def file_of_record(database: Database, claims: Claims, record_id: UUID) -> UUID:
    """The file that a record points at.

    Raises:
        NotFoundError: No such record, or not visible to whoever asks.
    """
    with database.agent(claims) as tx:
        place = tx.execute(_QUERIES["locate_record"], {"record_id": record_id}).fetchone()
        if place is None:
            raise NotFoundError
        row = tx.execute(
            _QUERIES["file_of_record"].format(schema=sql.Identifier(place["schema_name"])), {"record_id": record_id}
        ).fetchone()
    if row is None:
        raise NotFoundError
    file_id: UUID = row["file_id"]
    return file_id


def _manifest(tx: Transaction, file_id: UUID) -> tuple[sql.Identifier, dict[str, Any]]:
    place = tx.execute(_QUERIES["locate_file"], {"file_id": file_id}).fetchone()
    if place is None:
        raise NotFoundError
    schema = sql.Identifier(place["schema_name"])
    manifest = tx.execute(_QUERIES["manifest"].format(schema=schema), {"file_id": file_id}).fetchone()
    if manifest is None:
        raise NotFoundError
    return schema, manifest


def _transcript_beside(tx: Transaction, schema: sql.Identifier, file_id: UUID) -> dict[str, Any]:
    found = tx.execute(_QUERIES["transcript_beside"].format(schema=schema), {"file_id": file_id}).fetchone()
    if found is None:
        raise NotFoundError
    return found


def _head(chunks: Iterator[bytes]) -> bytes:
    head = bytearray()
    for chunk in chunks:
        head += chunk[: HEAD_BYTES - len(head)]
        if len(head) == HEAD_BYTES:
            break
    return bytes(head)


def _range(objects: ObjectStore, manifest: dict[str, Any], start: int, length: int) -> bytes:
    """``length`` bytes of text from ``start``, out of the members that hold them: each has a checksum of its own."""
    offset, size, text_start, lengths = members_of(
        start, length, manifest["stored_bytes"], manifest["member_offsets"], manifest["member_text_offsets"]
    )
    data = objects.get_range(manifest["storage_path"], offset, size)
    members, position = [], 0
    for member_length in lengths:
        members.append(data[position : position + member_length])
        position += member_length
    return read_text(members)[start - text_start :][:length]


def _message(
    objects: ObjectStore, transcript: dict[str, Any], file_id: UUID, place: Mapping[str, Any]
) -> OpenedMessage:
    start, end = place["line_after"], place["content_end"] + len(LINE_END)
    try:
        line = last_line(_range(objects, transcript, start, end - start))
        return OpenedMessage(
            file_id,
            line["seq"],
            Role(line["role"]),
            line["author"],
            line["external_id"],
            datetime.fromisoformat(line["occurred_at"]),
            line["content"],
        )
    except (ValueError, KeyError, zlib.error) as error:
        raise StorageError(f"the object of file {file_id} is damaged: it is not served") from error


def speaker_lines(content: bytes) -> list[dict[str, Any]]:
    """The messages of a transcript, for a face that shows them to a person."""
    return [json.loads(line) for line in content.splitlines() if line]
