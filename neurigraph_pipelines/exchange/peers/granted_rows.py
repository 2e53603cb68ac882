"""The rows of a granted stream, with checks of sizes, forms and references, because a publisher is a stranger.

Columns are those of the tables; a form that lacks one, or has another, is refused. Texts are data and are never
followed. Everything gets ids of this installation, so a publisher can name nothing here.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from io import BufferedRandom
from typing import Annotated, Literal, TypeVar
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, PlainValidator, ValidationError, model_validator

from neurigraph_pipelines.exchange.portability.archive import MANIFEST, ArchiveReader
from neurigraph_pipelines.exchange.portability.segments import bytes_of
from neurigraph_pipelines.exchange.portability.stream import OBJECTS, VERSION, rows_name
from neurigraph_pipelines.exchange.received_segments import checked_vectors, read_segment
from neurigraph_pipelines.model import (
    RECORD_DIMENSIONS,
    ContentType,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.text.json_fields import Json
from neurigraph_pipelines.text.lexemes import MAX_FREQUENCY
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.views.mirrors import Count, OfferedRecord, Text

MAX_FILE_BYTES = 256 << 20
MAX_ROWS_BYTES = 128 << 20
"""Most bytes of all rows of an answer. A record of 620,000 tokens with its vectors takes half of it."""

MAX_STREAM_BYTES = 2 * MAX_FILE_BYTES + MAX_ROWS_BYTES
"""Most bytes of an answer, packed and unpacked: those of a record with two large files."""

MAX_MANIFEST_BYTES = 1 << 20
_MAX_LISTING_BYTES = 1 << 20
MAX_PASSAGES = 100_000
"""Most passages of one record."""

_ENDS_WITH = struct.Struct("<4s16x4s8xL4xH")
"""The places of Zip64's locator and of the end record of a zip file: signatures, size of the listing and comment."""

_LENGTH_SLACK = 0.02
_MOST = {"byte_offset": MAX_FILE_BYTES, "window_length": 1e9, "lexemes": 20_000}
_MOST_FILES = 2
TRANSCRIPT = "transcript"

Shorts = Annotated[list[Annotated[Text, Field(max_length=1_000)]], Field(max_length=1_000)] | None
Sha = Annotated[str, Field(pattern=r"^\\x[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
Offsets = Annotated[list[Bytes], Field(max_length=200_000)]

Form = TypeVar("Form", bound=BaseModel)


def _require_unit(vectors: NDArray[np.floating]) -> None:
    """Require that vectors are of unit length or zero, as all vectors here are."""
    is_small = bool((np.abs(vectors) <= 1 + _LENGTH_SLACK).all())  # no square of it is endless
    lengths = np.linalg.norm(vectors, axis=1) if is_small else np.array([np.inf])
    if not ((lengths == 0) | (np.abs(lengths - 1) <= _LENGTH_SLACK)).all():
        raise ValueError("a vector is not of unit length")


def _vector(text: str) -> str:
    try:
        found = np.array(json.loads(text), np.float64)
    except (TypeError, RecursionError, OverflowError) as error:
        raise ValueError("a vector has an unknown form") from error
    if found.shape != (RECORD_DIMENSIONS,):
        raise ValueError("a vector has another size")
    _require_unit(found[np.newaxis])
    return text


def _segment(packed: Json) -> SearchSegment:
    """Return the segment in some bytes, within the bounds of passages."""
    content = bytes_of(packed)
    if int.from_bytes(content[4:8], "little") > MAX_PASSAGES:
        raise ValueError("a record has too many passages")
    segment = read_segment(content)
    too_large = any((segment.rows[name] > most).any() for name, most in _MOST.items())
    if too_large or (segment.frequencies > MAX_FREQUENCY).any():
        raise ValueError("a search segment has numbers above the most")
    return segment


class _Row(BaseModel, extra="forbid"):
    """A row of a table; a column that peers do not get is refused."""


class SourceRow(_Row):
    """The source of a record, without its messages. The table has limits for its columns."""

    source_id: UUID
    kind: SourceKind
    event_kind: Text | None
    title: Text | None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None
    origin: Text | None
    document_type: Text | None
    url: Text | None
    channel: Text | None
    author: Text | None


class RecordRow(_Row):
    """A record."""

    record_id: UUID
    title: Annotated[Text, Field(max_length=1_000)]
    summary: Annotated[Text, Field(max_length=100_000)]
    embedding: Annotated[str, AfterValidator(_vector)] | None
    kw_entities: Shorts
    kw_topics: Shorts
    kw_dates: Shorts
    kw_relationships: Shorts
    content_type: ContentType
    trigger_type: TriggerType
    source_kind: SourceKind
    source_id: UUID
    first_message: Count
    last_message: Count
    content_hash: Sha
    language: Annotated[str, Field(pattern="^[a-z_.]{1,60}$")]
    occurred_at: AwareDatetime
    received_at: AwareDatetime | None
    importance: float | None
    file_pointer: Text


class FileRow(_Row):
    """A file of a record."""

    file_id: UUID
    record_id: UUID
    file_name: Annotated[Text, Field(min_length=1, max_length=1_000)]
    file_type: Text
    storage_path: Text
    compression_format: Literal["gzip", "native"]
    size_bytes: Bytes
    stored_bytes: Bytes
    stored_sha256: Sha
    content_sha256: Sha | None
    member_offsets: Offsets
    member_text_offsets: Offsets

    @model_validator(mode="after")
    def _offsets_fit(self) -> FileRow:
        for offsets, most in ((self.member_offsets, self.stored_bytes), (self.member_text_offsets, self.size_bytes)):
            if offsets != sorted(offsets) or (offsets and offsets[-1] > most):
                raise ValueError("parts of a file lie outside of it")
        own = (self.stored_bytes, self.content_sha256 and self.stored_sha256)
        if self.compression_format == "native" and (self.size_bytes, self.content_sha256) != own:
            raise ValueError("a file is stored as it is, and has another size or checksum")
        return self


class SegmentRow(_Row, arbitrary_types_allowed=True):
    """The search segment of a record, and the stemmers of its messages that are not the publisher's usual one."""

    record_id: UUID
    languages: Annotated[list[Annotated[str, Field(pattern="^[a-z_]{1,60}$")]], Field(max_length=100)]
    content: Annotated[SearchSegment, PlainValidator(_segment)]
    vectors: Annotated[bytes | None, PlainValidator(lambda packed: None if packed is None else bytes_of(packed))]

    @model_validator(mode="after")
    def _vectors_fit(self) -> SegmentRow:
        if self.vectors is not None:
            _require_unit(checked_vectors(self.vectors, len(self.content.rows)))
        return self


@dataclass(slots=True)
class GrantedRecord:
    """A record with everything that belongs to it, and its id here."""

    row: RecordRow
    record_id: UUID
    version: UUID | None = None
    files: list[FileRow] = field(default_factory=list)
    segment: SegmentRow | None = None

    @property
    def has_vectors(self) -> bool:
        """Whether it has all vectors, of its summary and of its passages."""
        return self.row.embedding is not None and (self.segment is None or self.segment.vectors is not None)

    @property
    def is_whole(self) -> bool:
        """Whether it has its version and its files, and its passages lie in its transcript."""
        texts = [file.size_bytes for file in self.files if file.file_type == TRANSCRIPT]
        is_opened = self.row.file_pointer in {file.storage_path for file in self.files}
        if self.version is None or not texts or not is_opened or len(self.files) > _MOST_FILES:
            return False
        rows = self.segment.content.rows if self.segment is not None else None
        return rows is None or not (rows["byte_offset"] + rows["byte_length"] > max(texts)).any()


class GrantedRows:
    """The records of one answer and their sources, by their ids at the publisher, as are the node and those asked for.

    Raises:
        ProviderError: The answer is of another version, or has rows or files that were not asked for or cannot be.
        InvalidInputError: The archive is damaged.
    """

    def __init__(self, archive: ArchiveReader, node_id: UUID, asked: Collection[UUID]) -> None:
        if archive.sizes.get(MANIFEST, 0) > MAX_MANIFEST_BYTES:
            raise ProviderError("the publisher sent a list of too many files")
        header = archive.header()
        if header.version != VERSION:
            raise ProviderError(
                f"the publisher sends version {header.version} of the stream, and this installation reads {VERSION}: "
                "run one version of Neurigraph on both sides"
            )
        if archive.size_bytes() > MAX_STREAM_BYTES:  # before all is unpacked, which stops at the stated sizes
            raise ProviderError(f"the publisher sent files that unpack to more than {MAX_STREAM_BYTES:,} bytes")
        archive.verify(lambda _: None)
        objects = {name for name in archive.entries if name.startswith(OBJECTS)}
        if sum(one.size_bytes for one in archive.entries.values() if one.name not in objects) > MAX_ROWS_BYTES:
            raise ProviderError(f"the publisher sent more than {MAX_ROWS_BYTES:,} bytes of rows")
        lines = {part.name: part.lines() for part in archive.parts() if part.name not in objects}

        def rows(form: type[Form], name: str) -> Iterator[Form]:
            return (read(form, line) for line in lines.pop(name, ()))

        records = rows(RecordRow, rows_name("metadata_records", node_id))
        self.records = {row.record_id: GrantedRecord(row, uuid4()) for row in records}
        self.sources = {row.source_id: row for row in rows(SourceRow, rows_name("sources"))}
        for version in rows(OfferedRecord, rows_name("mirrored_records")):
            self._record(version.record_id).version = version.version
        for file in rows(FileRow, rows_name("file_manifest", node_id)):
            self._record(file.record_id).files.append(file)
        for segment in rows(SegmentRow, rows_name("segments")):
            self._record(segment.record_id).segment = segment
        named = {OBJECTS + file.storage_path for record in self.records.values() for file in record.files}
        if lines or archive.sizes.keys() != {*archive.entries, MANIFEST} or objects != named:
            raise ProviderError("the publisher sent files that were not asked for")
        sources = {record.row.source_id for record in self.records.values()}
        if not {*self.records} <= {*asked} or sources != self.sources.keys():
            raise ProviderError("the publisher sent records or sources that were not asked for")
        if not all(record.is_whole for record in self.records.values()):
            raise ProviderError(
                "the publisher sent a record without its version, its files or the text of its passages"
            )

    def _record(self, record_id: UUID) -> GrantedRecord:
        if record_id not in self.records:
            raise ProviderError("the publisher sent rows of records that it did not send")
        return self.records[record_id]


def require_few_files(file: BufferedRandom) -> None:
    """Require that the listing at the end of a zip file is short and of the simple form: it is read as a whole.

    Python takes eight times its size, before anything of the archive can be looked at.

    Raises:
        ProviderError: It is not.
    """
    file.seek(max(file.seek(0, os.SEEK_END) - _ENDS_WITH.size, 0))
    end = file.read().rjust(_ENDS_WITH.size, b"\0")
    locator, signature, size, comment = _ENDS_WITH.unpack(end)
    if locator == b"PK\6\7" or (signature, comment) != (b"PK\5\6", 0) or size > _MAX_LISTING_BYTES:
        raise ProviderError("the publisher sent an archive of too many files, or no archive")


def read(form: type[Form], answer: bytes | str) -> Form:
    """Return something that a publisher says in its form.

    Raises:
        ProviderError: It has another form. The message has names of fields, and no text of the answer.
    """
    try:
        return form.model_validate_json(answer)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join("*" if isinstance(part, int) else str(part) for part in first["loc"])[:100]
        raise ProviderError(f"the publisher's answer has another form ({place}): nothing of it is used") from error
