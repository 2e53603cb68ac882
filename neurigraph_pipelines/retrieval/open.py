"""Open: the bytes of exactly one file, or of single messages in it.

A whole file is read through ``lifecycle.rehydration``; a message is read from those members of the durable object that
hold it. Either way the checksum is verified before the content is returned.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.lifecycle.rehydration import open_whole, read_from_copy
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, damaged, missing
from neurigraph_pipelines.lifecycle.transitions import FileLocation, locate, manifest_of
from neurigraph_pipelines.model import Claims, Role, author_view
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import (
    AbsentObjectError,
    DamagedObjectError,
    LostObjectError,
    NotFoundError,
    StorageError,
    require_found,
)
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.model.tool_events import event_fields
from neurigraph_pipelines.retrieval.log import note_open
from neurigraph_pipelines.retrieval.places import Place, places_in, transcripts
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.media_types import HEAD_BYTES, media_type_of
from neurigraph_pipelines.text.stored_text import members_of, read_text
from neurigraph_pipelines.text.transcript import LINE_END, event_of, last_line
from neurigraph_pipelines.views.files import Message

TRANSCRIPT_MEDIA_TYPE = "application/jsonl"
TRANSCRIPT = "transcript"
"""The file type of transcripts."""

_QUERIES = statements("search")


_READ_AT_ONCE, _READ_OVER = 1 << 20, 1 << 14
"""Most bytes of a transcript that are read at once for single messages, a longer message alone; and most bytes between
two of them that are read, too, because one read more takes longer."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A verified file; its content is read in chunks, since an upload may be larger than memory.

    Attributes:
        size_bytes: Of the stored content.
        as_stored: Whether the chunks are the stored bytes; otherwise each line of a transcript says who speaks.
    """

    file_id: UUID
    file_name: str
    media_type: str
    is_transcript: bool
    size_bytes: int
    as_stored: bool
    chunks: Callable[[], Iterator[bytes]]

    @property
    def content(self) -> bytes:
        """The whole content."""
        return b"".join(self.chunks())


@measured("open")
@retry_not_found
def open_file(
    context: Context,
    file_id: UUID,
    *,
    as_text: bool = False,
    as_stored: bool = False,
    wait: float = 0.0,
) -> OpenedFile:
    """Open a whole file, reset its dormancy clock, and decompress a dormant file.

    Every line of a transcript gets the ``author`` under which its message is shown, the ``stated_author``, and the
    ``voice``: who speaks, as the server knows it.

    Args:
        as_text: For an upload, open the transcript of its text instead.
        as_stored: Return the bytes of a transcript as they are stored, with the authors that its writers stated.
        wait: Seconds to wait while another caller decompresses it.

    Raises:
        NotFoundError: No such file, or it is not visible to the caller.
        RehydratingError: Another caller was still decompressing it when ``wait`` was over.
        LostObjectError: The bytes are lost or damaged; they are not returned.
        StorageError: The object store failed.
    """
    with context.database.agent(context.claims) as tx:
        place = locate(tx, file_id)
        if as_text and manifest_of(tx, place).file_type != TRANSCRIPT:
            place = replace(place, file_id=_transcript_beside(tx, place))
    manifest, content = open_whole(context, place, wait)
    note_open(context, place.file_id)
    is_transcript = manifest.file_type == TRANSCRIPT
    name = manifest.file_name
    head = next(content.chunks(), b"")[:HEAD_BYTES]
    as_stored = as_stored or not is_transcript
    speakers = {} if as_stored else _speakers(context, place.file_id)
    return OpenedFile(
        place.file_id,
        name,
        TRANSCRIPT_MEDIA_TYPE if is_transcript else media_type_of(head, name).name,
        is_transcript,
        content.size_bytes,
        as_stored,
        content.chunks if as_stored else lambda: _with_speakers(content.chunks(), speakers),
    )


def _speakers(context: Context, file_id: UUID) -> dict[int, Place]:
    """Return who speaks in each message of a transcript; nobody if its search segment is damaged."""
    with suppress(LostObjectError):
        return {one.message: one for one in places_in(transcripts(context, [file_id]).get(file_id), None)}
    return {}


def _with_speakers(chunks: Iterable[bytes], speakers: Mapping[int, Place]) -> Iterator[bytes]:
    """Yield the lines of a transcript with who speaks. A message that the database does not know has no author."""
    for text in _whole_lines(chunks):
        line = json.loads(text)
        content = line.pop("content")
        known = speakers.get(line["seq"])
        shown = {"author": None, "stated_author": line["author"], "voice": None}
        if known is not None:
            shown |= {"author": author_view(line["author"], known.voice, known.persona), "voice": known.voice.value}
        shown_line = json.dumps({**line, **shown, "content": content}, ensure_ascii=False)
        yield f"{shown_line}\n".encode("utf-8", "backslashreplace")  # what UTF-8 cannot hold stays escaped


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a text that is read in chunks."""
    pending: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        pending.append(first)
        for other in others:
            yield b"".join(pending)
            pending = [other]
    if any(pending):
        yield b"".join(pending)


@retry_not_found
def open_message(context: Context, file_id: UUID, message: int) -> Message:
    """Open one message of a transcript, as ``open_messages`` does.

    Raises:
        NotFoundError: No such file or message, or it is not visible to the caller.
        LostObjectError: The bytes are lost or damaged; they are not returned.
        StorageError: The object store failed.
    """
    found = open_messages(context, file_id, [message])
    if not found:
        raise NotFoundError
    note_open(context, file_id)
    return found[0]


def open_messages(
    context: Context,
    file_id: UUID,
    messages: Sequence[int] | None,
) -> list[Message]:
    """Open single messages of a transcript by the byte ranges of their lines; the rest of the file is not read.

    A dormant file stays dormant: a few kilobytes of the compressed object are read, whatever its size. The file counts
    as accessed, whichever messages are asked for.

    Args:
        file_id: The id of the transcript, or of the original beside it.
        messages: The numbers of the messages; None for all.

    Returns:
        The messages that exist and are visible to the caller, by number.

    Raises:
        LostObjectError: The bytes are lost or damaged; they are not returned.
        StorageError: The object store failed.
    """
    row = transcripts(context, [file_id]).get(file_id)
    return _opened(context, file_id, list(places_in(row, messages)))


def open_in_files(
    context: Context, wanted: Mapping[UUID, Sequence[int] | None]
) -> dict[UUID, list[Message] | StorageError]:
    """Open messages of several transcripts, as ``open_messages`` does, after one question to the database.

    Returns:
        For each file its messages, or why its bytes cannot be read.
    """
    opened: dict[UUID, list[Message] | StorageError] = {}
    rows = transcripts(context, list(wanted))
    for file_id, messages in wanted.items():
        try:
            opened[file_id] = _opened(context, file_id, list(places_in(rows.get(file_id), messages)))
        except StorageError as error:
            opened[file_id] = error
        except Exception as error:  # a defect: the others may answer
            opened[file_id] = StorageError(leave_out("messages", error))
    return opened


def _opened(context: Context, file_id: UUID, places: Sequence[Place]) -> list[Message]:
    try:
        return [
            message
            for run in _runs(places)
            for message in _messages(partial(text_at, context.objects, run[0]), run, file_id)
        ]
    except LostObjectError as error:
        (place, *_) = places
        location = FileLocation(place.file_id, place.node_id, place.schema_name)
        text = read_from_copy(context, location, place.storage_path, error)
        if text is None:
            raise
        return list(_messages(lambda start, length: text[start:][:length], places, file_id))


@retry_not_found
def file_of_record(database: Database, claims: Claims, record_id: UUID) -> UUID:
    """Return the id of the file that a record points at.

    Raises:
        NotFoundError: No such record, or it is not visible to the caller.
    """
    with database.agent(claims) as tx:
        place = require_found(tx.execute(_QUERIES["locate_record"], {"record_id": record_id}).fetchone())
        row = tx.execute(
            _QUERIES["file_of_record"].format(schema=sql.Identifier(place["schema_name"])), {"record_id": record_id}
        ).fetchone()
    if row is None:
        raise NotFoundError
    file_id: UUID = row["file_id"]
    return file_id


def _transcript_beside(tx: Transaction, place: FileLocation) -> UUID:
    found = require_found(
        tx.execute(_QUERIES["transcript_beside"].format(schema=place.schema), {"file_id": place.file_id}).fetchone()
    )
    file_id: UUID = found["file_id"]
    return file_id


def text_at(objects: ObjectStore, place: Place | Manifest, start: int, length: int) -> bytes:
    """Return ``length`` bytes of a transcript from ``start``; only the members that hold them are read and checked.

    Raises:
        LostObjectError: They are lost, or damaged by the checksum of a member.
    """
    offset, size, text_start, lengths = members_of(
        start, length, place.stored_bytes, place.member_offsets, place.member_text_offsets
    )
    try:
        data = objects.get_range(place.storage_path, offset, size)
    except AbsentObjectError as error:
        raise missing(place.file_id) from error
    except DamagedObjectError as error:
        raise damaged(place.file_id) from error
    members, position = [], 0
    for member_length in lengths:
        members.append(data[position : position + member_length])
        position += member_length
    try:
        return read_text(members)[start - text_start :][:length]
    except zlib.error as error:
        raise damaged(place.file_id) from error


def _runs(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Yield places whose lines are near each other, as far as one read of the file takes them."""
    run: list[Place] = []
    for place in places:
        is_far = bool(run) and place.line_after - _end(run[-1]) > _READ_OVER
        if run and (is_far or _end(place) - run[0].line_after > _READ_AT_ONCE):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _end(place: Place) -> int:
    return place.content_end + len(LINE_END)


def _messages(read: Callable[[int, int], bytes], run: Sequence[Place], file_id: UUID) -> Iterator[Message]:
    """Yield the messages of a run, which is read at once.

    Args:
        read: Returns as many bytes of the transcript from an offset as asked.
    """
    first = run[0].line_after
    text = read(first, _end(run[-1]) - first)
    for place in run:
        yield _message(text[place.line_after - first : _end(place) - first], place, file_id)


def _message(text: bytes, place: Place, file_id: UUID) -> Message:
    try:
        line = last_line(text)
        if line["seq"] != place.message:  # whole, and of another transcript
            raise damaged(file_id)
        role, event = Role(line["role"]), event_of(line)
        said = {"file_id": file_id, "author": author_view(line["author"], place.voice, place.persona)}
        return Message.model_validate(
            {"tool_calls": [], **line, **said, "voice": place.voice, **event_fields(role, event)}
        )
    except (ValueError, KeyError) as error:
        raise damaged(file_id) from error


def speaker_lines(content: bytes) -> list[JsonObject]:
    """Return the messages of a transcript, for a face that shows them to a person."""
    return [json.loads(line) for line in content.splitlines() if line]
