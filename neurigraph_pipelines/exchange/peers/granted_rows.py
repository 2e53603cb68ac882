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
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

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
from neurigraph_pipelines.text.lexemes import MAX_FREQUENCY
from neurigraph_pipelines.text.search_segments import VOICES, SearchSegment
from neurigraph_pipelines.views.mirrors import Count, Text

MAX_FILE_BYTES = 256 << 20
MAX_ROWS_BYTES = 128 << 20
"""Most bytes of all rows of an answer. A record of 620,000 tokens with its vectors takes half of it."""

MAX_PASSAGES = 100_000
"""Most passages of one record."""

_LENGTH_SLACK = 0.02
_MOST = {"byte_offset": MAX_FILE_BYTES, "window_length": 1e9, "lexemes": 20_000}
_ZEROS = json.dumps([0] * RECORD_DIMENSIONS)
_TRANSCRIPT = "transcript"

Short = Annotated[Text, Field(max_length=300)]
Shorts = Annotated[list[Short], Field(max_length=1_000)] | None
Sha = Annotated[str, Field(pattern=r"^\\x[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
Offsets = Annotated[list[Bytes], Field(max_length=200_000)]

Form = TypeVar("Form", bound=BaseModel)


class _Row(BaseModel, extra="forbid"):
    """A row of a table; a column that peers do not get is refused."""


class SourceRow(_Row):
    """The source of a record, without its messages."""

    source_id: UUID
    kind: SourceKind
    event_kind: Literal["meeting", "call", "work_session", "milestone"] | None
    title: Annotated[Text, Field(max_length=500)] | None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None
    origin: Annotated[Text, Field(min_length=1, max_length=100)] | None
    document_type: Annotated[str, Field(pattern="^[a-z_]{1,40}$")] | None
    url: Annotated[Text, Field(max_length=2_000, pattern=r"^https?://[^/?#@]")] | None
    channel: Literal["private", "dm", "public"] | None
    author: Annotated[Text, Field(min_length=1, max_length=300)] | None


class RecordRow(_Row):
    """A record."""

    record_id: UUID
    title: Annotated[Text, Field(max_length=1_000)]
    summary: Annotated[Text, Field(max_length=100_000)]
    embedding: str | None
    kw_entities: Shorts
    kw_topics: Shorts
    kw_dates: Shorts
    kw_relationships: Annotated[list[Annotated[Text, Field(max_length=1_000)]], Field(max_length=1_000)] | None
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
    importance: Annotated[float, Field(ge=0, le=1)] | None
    file_pointer: Text


class FileRow(_Row):
    """A file of a record."""

    file_id: UUID
    record_id: UUID
    file_name: Annotated[Text, Field(min_length=1, max_length=1_000)]
    file_type: Annotated[str, Field(pattern="^[a-z_]{1,40}$")]
    storage_path: Text
    compression_format: Literal["gzip", "native"]
    size_bytes: Bytes
    stored_bytes: Bytes
    stored_sha256: Sha
    content_sha256: Sha | None
    member_offsets: Offsets
    member_text_offsets: Offsets


class SegmentRow(_Row):
    """The search segment of a record, and the stemmers of its messages that are not the publisher's usual one."""

    record_id: UUID
    languages: Annotated[list[Annotated[str, Field(pattern="^[a-z_]{1,60}$")]], Field(max_length=100)]
    content: str
    vectors: str | None


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
    record_id: UUID = field(default_factory=uuid4)
    version: UUID | None = None
    files: list[FileRow] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    segment: SearchSegment | None = None
    vectors: bytes | None = None

    @property
    def has_vectors(self) -> bool:
        """Whether it has all vectors, of its summary and of its passages."""
        return self.row.embedding is not None and (self.segment is None or self.vectors is not None)


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
        DamagedSegmentError: So is a segment.
    """

    def __init__(self, archive: ArchiveReader, node_id: UUID, asked: Collection[UUID]) -> None:
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
        rows = {part.name: part.lines() for part in archive.parts() if part.name not in objects}
        self.records: dict[UUID, GrantedRecord] = {}
        self.sources: dict[UUID, SourceRow] = {}
        for name, take in {
            rows_name("metadata_records", node_id): self._take_record,
            rows_name("sources"): self._take_source,
            rows_name("mirrored_records"): self._take_version,
            rows_name("file_manifest", node_id): self._take_file,
            rows_name("segments"): self._take_segment,
        }.items():
            for line in rows.pop(name, ()):
                take(line)
        if rows or archive.names != {*archive.entries, MANIFEST} or not {*self.records} <= {*asked}:
            raise ProviderError("the publisher sent records or files that were not asked for")
        self._require_whole(objects)

    def _take_record(self, line: str) -> None:
        row = read(RecordRow, line)
        if row.record_id in self.records or row.last_message < row.first_message:
            raise ProviderError("the publisher sent a record twice, or one without messages")
        if row.embedding is not None:
            _require_unit(_vector(row.embedding))
        self.records[row.record_id] = GrantedRecord(row)

    def _take_source(self, line: str) -> None:
        row = read(SourceRow, line)
        self.sources[row.source_id] = row

    def _take_version(self, line: str) -> None:
        row = read(VersionRow, line)
        self._record(row.record_id).version = row.version

    def _take_file(self, line: str) -> None:
        row = read(FileRow, line)
        for offsets, most in ((row.member_offsets, row.stored_bytes), (row.member_text_offsets, row.size_bytes)):
            if offsets != sorted(offsets) or (offsets and offsets[-1] > most):
                raise ProviderError("parts of a file of the publisher lie outside of it")
        self._record(row.record_id).files.append(row)

    def _take_segment(self, line: str) -> None:
        row = read(SegmentRow, line)
        record, content = self._record(row.record_id), bytes_of(row.content)
        if int.from_bytes(content[4:8], "little") > MAX_PASSAGES or record.segment is not None:
            raise ProviderError("the publisher sent a record with too many passages")
        record.segment, record.languages = read_segment(content), row.languages
        passages = record.segment.rows
        too_large = any((passages[name] > most).any() for name, most in _MOST.items())
        if too_large or (record.segment.frequencies > MAX_FREQUENCY).any():
            raise ProviderError("the publisher sent a search segment with numbers above the most")
        if row.vectors is not None:
            record.vectors = bytes_of(row.vectors)
            _require_unit(checked_vectors(record.vectors, len(passages)))

    def _record(self, record_id: UUID) -> GrantedRecord:
        if record_id not in self.records:
            raise ProviderError("the publisher sent rows of records that it did not send")
        return self.records[record_id]

    def _require_whole(self, objects: set[str]) -> None:
        """Check that each record has its version, its source and its files, and that nothing else came."""
        named = {OBJECTS + file.storage_path for record in self.records.values() for file in record.files}
        if objects != named or {record.row.source_id for record in self.records.values()} != self.sources.keys():
            raise ProviderError("the publisher sent files or sources without records, or records without these")
        for record in self.records.values():
            texts = [file.size_bytes for file in record.files if file.file_type == _TRANSCRIPT]
            keys = {file.storage_path for file in record.files}
            if record.version is None or not texts or len(record.files) > 2 or record.row.file_pointer not in keys:
                raise ProviderError("the publisher sent a record without its version, its transcript or its main file")
            rows = record.segment.rows if record.segment is not None else None
            if rows is not None and (rows["byte_offset"] + rows["byte_length"] > max(texts)).any():
                raise ProviderError("a passage of the publisher lies outside of the transcript")

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
            own = {"source_id": source_ids[source_id], "external_id": f"{peer_id}:{source_id}"}
            yield "sources", json.dumps({**source.model_dump(mode="json"), **own})
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
        "received_through": ReceivedThrough.PEER,
    }


def _of_segment(record: GrantedRecord, model: str | None, usual: str, ids: dict[str, str]) -> str:
    """Return the row of a segment. Whatever the publisher says, the voice is one that was fetched.

    The messages have no ids of their writers, as they are none of this installation.
    """
    assert record.segment is not None
    rows = record.segment.rows.copy()
    rows["voice"] = VOICES.index(Voice.FETCHED)
    fetched = record.segment._replace(rows=rows, external_ids=[None] * len(rows))
    spoken = known_languages((*record.languages, record.row.language.rpartition(".")[2]))
    vectors = {"vectors": record.vectors, "model": model} if record.has_vectors else {}
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


def _vector(text: str) -> NDArray[np.float64]:
    """Return the vector of a record, in a row.

    Raises:
        ProviderError: It is none of that size.
    """
    try:
        found = np.array(json.loads(text), np.float64)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise ProviderError("the publisher sent a vector in an unknown form") from error
    if found.shape != (RECORD_DIMENSIONS,):
        raise ProviderError("the publisher sent a vector of another size")
    return found[np.newaxis]


def _require_unit(vectors: NDArray[np.floating]) -> None:
    """Require that vectors are of unit length or zero, as all vectors here are."""
    is_small = bool((np.abs(vectors) <= 1 + _LENGTH_SLACK).all())  # no square of it is endless
    lengths = np.linalg.norm(vectors, axis=1) if is_small else np.array([np.inf])
    if not ((lengths == 0) | (np.abs(lengths - 1) <= _LENGTH_SLACK)).all():
        raise ProviderError("the publisher sent a vector that is not of unit length")
