"""The rows of a granted stream, with checks of sizes, forms and references, because a publisher is a stranger.

Columns are those of the tables; a form that lacks one, or has another, is refused. Texts are data and are never
followed. Everything gets ids of this installation, so a publisher can name nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar
from uuid import UUID, uuid4, uuid5

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, PlainValidator, ValidationError, model_validator

from neurigraph_pipelines.exchange.portability.archive import MANIFEST, ArchiveReader
from neurigraph_pipelines.exchange.portability.segments import bytes_of, line_of
from neurigraph_pipelines.exchange.portability.stream import OBJECTS, VERSION, rows_name
from neurigraph_pipelines.exchange.received_segments import checked_vectors, known_languages, read_segment
from neurigraph_pipelines.model import (
    RECORD_DIMENSIONS,
    CompressionState,
    ContentType,
    ReceivedThrough,
    SourceKind,
    TriggerType,
    Voice,
)
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.text.json_fields import Json
from neurigraph_pipelines.text.lexemes import MAX_FREQUENCY
from neurigraph_pipelines.text.search_segments import VOICES, SearchSegment
from neurigraph_pipelines.views.mirrors import Count, Text

MAX_FILE_BYTES = 256 << 20
MAX_ROWS_BYTES = 128 << 20
"""Most bytes of all rows of an answer. A record of 620,000 tokens with its vectors takes half of it."""

MAX_MANIFEST_BYTES = 1 << 20
MAX_PASSAGES = 100_000
"""Most passages of one record."""

_LENGTH_SLACK = 0.02
_MOST = {"byte_offset": MAX_FILE_BYTES, "window_length": 1e9, "lexemes": 20_000}
_ZEROS = json.dumps([0] * RECORD_DIMENSIONS)
_TRANSCRIPT = "transcript"
_MOST_FILES = 2
_ORIGIN = {"received_through": ReceivedThrough.PEER}
TABLES = ("sources", "metadata_records", "file_manifest", "segments", "mirrored_records")
"""The tables of a mirror, each after the tables that it references."""

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


class VersionRow(_Row):
    """The version of a record, which is another one whenever something of the record changes."""

    record_id: UUID
    version: UUID


FORMS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {"sources": SourceRow, "records": RecordRow, "files": FileRow, "segments": SegmentRow}
)
"""The rows that a publisher selects, by their names in its query: the columns are those of the forms."""


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
        texts = [file.size_bytes for file in self.files if file.file_type == _TRANSCRIPT]
        is_opened = self.row.file_pointer in {file.storage_path for file in self.files}
        if self.version is None or not texts or not is_opened or len(self.files) > _MOST_FILES:
            return False
        rows = self.segment.content.rows if self.segment is not None else None
        return rows is None or not (rows["byte_offset"] + rows["byte_length"] > max(texts)).any()


class GrantedRows:
    """The rows of one answer.

    Args:
        archive: The answer.
        node_id: The node at the publisher.
        asked: The records that were asked for.

    Attributes:
        records: By their ids at the publisher.
        sources: Likewise.

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
        for version in rows(VersionRow, rows_name("mirrored_records")):
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

    def lines(
        self, peer_id: UUID, user_id: UUID, node_id: UUID, model: str | None, usual: str
    ) -> Iterator[tuple[str, str]]:
        """Yield the rows as they are stored here, with the names of their tables.

        Args:
            peer_id: The publisher.
            user_id: The user who mirrors it.
            node_id: The node here.
            model: That of the vectors.
            usual: The stemmer of this installation.
        """
        source_ids = {one: str(uuid5(peer_id, f"source {one}")) for one in self.sources}
        for source_id, source in self.sources.items():
            own = {"source_id": source_ids[source_id], "external_id": f"{peer_id}:{source_id}", "user_id": str(user_id)}
            yield "sources", json.dumps({**source.model_dump(mode="json"), **own, **_ORIGIN})
        for record in self.records.values():
            ids = {"record_id": str(record.record_id), "node_id": str(node_id), "user_id": str(user_id)}
            own = {"record_id": ids["record_id"], "source_id": source_ids[record.row.source_id]}
            yield "metadata_records", json.dumps({**_of_record(record, model), **own})
            for file in record.files:
                kind = _TRANSCRIPT if file.file_type == _TRANSCRIPT else "original"
                own = {"file_id": str(uuid5(record.record_id, kind)), "compression_state": CompressionState.ACTIVE}
                yield (
                    "file_manifest",
                    json.dumps({**file.model_dump(mode="json"), **own, "record_id": ids["record_id"]}),
                )
            if record.segment is not None:
                yield "segments", _of_segment(record, model, usual, ids)
            mirrored = {"peer_id": str(peer_id), "publisher_record_id": str(record.row.record_id)}
            yield "mirrored_records", json.dumps({**ids, **mirrored, "version": str(record.version)})


def _of_record(record: GrantedRecord, model: str | None) -> dict[str, object]:
    """Return the columns of a record. Key and persona are none of this installation, and only notes have importance."""
    row = record.row.model_dump(mode="json")
    is_note = record.row.source_kind is SourceKind.NOTE
    return {
        **row,
        "embedding": row["embedding"] if record.has_vectors else _ZEROS,
        "embedding_pending": not record.has_vectors,
        "embedding_model": model if record.has_vectors else None,
        "importance": row["importance"] if is_note else None,
        **_ORIGIN,
    }


def _of_segment(record: GrantedRecord, model: str | None, usual: str, ids: dict[str, str]) -> str:
    """Return the row of a segment. Whatever the publisher says, the voice is one that was fetched.

    The messages have no ids of their writers, as they are none of this installation.
    """
    assert record.segment is not None
    rows = record.segment.content.rows.copy()
    rows["voice"] = VOICES.index(Voice.FETCHED)
    fetched = record.segment.content._replace(rows=rows, external_ids=[None] * len(rows))
    spoken = known_languages((*record.segment.languages, record.row.language.rpartition(".")[2]))
    vectors = {"vectors": record.segment.vectors, "model": model} if record.has_vectors else {}
    return line_of(fetched, spoken, usual, {**ids, **vectors})


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
