"""The answers of publishers, with checks of sizes, forms and checksums, because a publisher is a stranger.

Texts are data and are never followed. ``mirroring`` gives everything ids of its own.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from neurigraph_pipelines.exchange.received_segments import checked_vectors, read_segment
from neurigraph_pipelines.model import RECORD_DIMENSIONS, ConceptKind, ContentType, SourceKind, TriggerType
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.text.lexemes import MAX_FREQUENCY
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.text.stored_text import decompress

MAX_FILE_BYTES = 256 << 20
MAX_PASSAGES = 100_000
"""Most passages of one record."""

_MAX_INT = 2**31 - 1
_HEADER = 4  # bytes of pgvector's binary form before the numbers
_LENGTH_SLACK = 0.02
_MOST = {"byte_offset": MAX_FILE_BYTES, "window_length": 1e9, "lexemes": 20_000}


def _clean(text: str) -> str:
    if "\0" in text or (not text.isascii() and any(0xD800 <= ord(one) < 0xE000 for one in text)):
        raise ValueError("a text has characters that cannot be stored")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Short = Annotated[Text, Field(max_length=300)]
Count = Annotated[int, Field(ge=0, le=_MAX_INT)]
Sha = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Offsets = Annotated[list[Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]], Field(max_length=200_000)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


Form = TypeVar("Form", bound=_Answer)


class Node(_Answer):
    """A node of a publisher."""

    node_id: UUID
    name: Annotated[Text, Field(min_length=1, max_length=120)]
    kind: ConceptKind
    records: Count
    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Nodes(_Answer):
    """A page of nodes."""

    horizon: UUID
    is_known: bool
    nodes: Annotated[list[Node], Field(max_length=1_000)]
    next_node: UUID | None


class Version(_Answer):
    """A record and its version."""

    record_id: UUID
    version: UUID


class Part(_Answer):
    """The records whose ids begin alike."""

    prefix: Annotated[str, Field(pattern="^[0-9a-f]{1,8}$")]
    digest: str


class Records(_Answer):
    """The records of a node, or digests of parts."""

    records: Annotated[list[Version], Field(max_length=100_000)] | None = None
    parts: Annotated[list[Part], Field(max_length=256)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Records:
        if (self.records is None) == (self.parts is None):
            raise ValueError("either records or parts")
        return self


class Source(_Answer):
    """The source of a record, without its messages."""

    source_id: UUID
    kind: SourceKind
    event_kind: Literal["meeting", "call", "work_session", "milestone"] | None
    title: Annotated[Text, Field(max_length=500)] | None
    started_at: datetime
    ended_at: datetime | None
    origin: Annotated[Text, Field(min_length=1, max_length=100)] | None
    document_type: Annotated[str, Field(pattern="^[a-z_]{1,40}$")] | None
    url: Annotated[Text, Field(max_length=2_000, pattern=r"^https?://[^/?#@]")] | None
    channel: Literal["private", "dm", "public"] | None
    author: Annotated[Text, Field(min_length=1, max_length=300)] | None


class File(_Answer):
    """A file of a record."""

    file_id: UUID
    name: Annotated[Text, Field(min_length=1, max_length=1_000)]
    type: Annotated[str, Field(pattern="^[a-z_]{1,40}$")]
    format: Literal["gzip", "native"]
    size_bytes: Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
    stored_bytes: Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
    stored_sha256: Sha
    is_main: bool
    member_offsets: Offsets
    member_text_offsets: Offsets
    content: str | None = None

    @model_validator(mode="after")
    def _offsets_fit(self) -> File:
        for offsets, most in (
            (self.member_offsets, self.stored_bytes),
            (self.member_text_offsets, self.size_bytes),
        ):
            if offsets != sorted(offsets) or (offsets and offsets[-1] > most):
                raise ValueError("parts of a file lie outside of it")
        if len(self.member_offsets) != len(self.member_text_offsets):
            raise ValueError("parts of a file without a place")
        return self


def _segment(packed: object) -> SearchSegment | None:
    """Return the segment in some base64, within the bounds of passages."""
    if packed is None:
        return None
    content = _unpacked(str(packed))
    if int.from_bytes(content[4:8], "little") > MAX_PASSAGES:
        raise ValueError("a record has too many passages")
    segment = read_segment(content)
    rows = segment.rows
    if any((rows[name] > most).any() for name, most in _MOST.items()) or (segment.frequencies > MAX_FREQUENCY).any():
        raise ValueError("a search segment has numbers above the most")
    return segment


def _unpacked(packed: str) -> bytes:
    return base64.b64decode(packed, validate=True)


class Record(_Answer):
    """A record with everything that belongs to it."""

    record_id: UUID
    version: UUID
    title: Annotated[Text, Field(max_length=1_000)]
    summary: Annotated[Text, Field(max_length=100_000)]
    entities: Annotated[list[Short], Field(max_length=1_000)] | None
    topics: Annotated[list[Short], Field(max_length=1_000)] | None
    dates: Annotated[list[Short], Field(max_length=1_000)] | None
    relationships: Annotated[list[Annotated[Text, Field(max_length=1_000)]], Field(max_length=1_000)] | None
    content_type: ContentType
    trigger_type: TriggerType
    first_message: Count
    last_message: Count
    content_hash: Sha
    language: Annotated[str, Field(pattern="^[a-z_.]{1,60}$")]
    occurred_at: datetime
    received_at: datetime | None
    importance: Annotated[float, Field(ge=0, le=1)] | None
    embedding: str | None
    source: Source
    files: Annotated[list[File], Field(min_length=1, max_length=2)]
    segment: Annotated[SearchSegment | None, PlainValidator(_segment)]
    languages: Annotated[list[Annotated[str, Field(pattern="^[a-z_]{1,60}$")]], Field(max_length=100)]
    vectors: str | None

    @model_validator(mode="after")
    def _has_one_main_file(self) -> Record:
        if [file.is_main for file in self.files].count(True) != 1 or self.last_message < self.first_message:
            raise ValueError("a record is opened by one of its files")
        transcript = max((file.size_bytes for file in self.files if file.type == "transcript"), default=None)
        if transcript is None:
            raise ValueError("a record has a transcript")
        rows = self.segment.rows if self.segment is not None else None
        if rows is not None and (rows["byte_offset"] + rows["byte_length"] > transcript).any():
            raise ValueError("a passage lies outside of the transcript")
        return self


class Pulled(_Answer):
    """A page of records."""

    records: Annotated[list[Record], Field(max_length=1_000)]


def read(form: type[Form], answer: bytes) -> Form:
    """Return an answer in its form.

    Raises:
        ProviderError: It has another form. The message has names of fields, and no text of the answer.
    """
    try:
        return form.model_validate_json(answer)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join("*" if isinstance(part, int) else str(part) for part in first["loc"])[:100]
        raise ProviderError(f"the publisher's answer has another form ({place}): nothing of it is used") from error


def _vector(packed: str) -> NDArray[np.float32]:
    """Return the vector of a record from pgvector's binary form in base64.

    Raises:
        ProviderError: It is none of that size, or not of unit length or zero, as all vectors here are.
    """
    try:
        raw = _unpacked(packed)
    except ValueError as error:
        raise ProviderError("the publisher sent a vector in an unknown form") from error
    if len(raw) != _HEADER + 4 * RECORD_DIMENSIONS or int.from_bytes(raw[:2]) != RECORD_DIMENSIONS:
        raise ProviderError("the publisher sent a vector of another size")
    found = np.frombuffer(raw, ">f4", offset=_HEADER).astype(np.float32)
    length = float(np.linalg.norm(found)) if np.isfinite(found).all() else np.inf
    if length and not abs(length - 1) <= _LENGTH_SLACK:
        raise ProviderError("the publisher sent a vector that is not of unit length")
    return found


class Vectors(NamedTuple):
    """The vectors of a record, and those of its passages as a search segment has them."""

    summary: NDArray[np.float32]
    passages: bytes | None


def vectors_of(record: Record) -> Vectors | None:
    """Return the vectors of a record and its passages; None if some are missing.

    Raises:
        ProviderError: They are of another size, or not of unit length or zero.
    """
    if record.embedding is None or (record.segment is not None and record.vectors is None):
        return None
    summary = _vector(record.embedding)
    if record.segment is None or record.vectors is None:
        return Vectors(summary, None)
    try:
        packed = _unpacked(record.vectors)
        found = checked_vectors(packed, len(record.segment.rows))
    except ValueError as error:
        raise ProviderError("the publisher sent vectors of passages in an unknown form") from error
    lengths = np.linalg.norm(found, axis=1)
    if not ((lengths == 0) | (np.abs(lengths - 1) <= _LENGTH_SLACK)).all():
        raise ProviderError("the publisher sent a vector that is not of unit length")
    return Vectors(summary, packed)


def require_content(file: File, stored: bytes) -> bytes:
    """Return the SHA-256 of a file's content, after comparing its stored bytes with what the publisher stated.

    Raises:
        ProviderError: They differ, or unpack to another size.
    """
    if len(stored) != file.stored_bytes or hashlib.sha256(stored).hexdigest() != file.stored_sha256:
        raise ProviderError("the bytes of a file are not those of its checksum: nothing of its record is used")
    if file.format == "native":
        return hashlib.sha256(stored).digest()
    digest, size = hashlib.sha256(), 0
    try:
        for piece in decompress([stored]):
            digest.update(piece)
            size += len(piece)
            if size > file.size_bytes:
                break
    except zlib.error as error:
        raise ProviderError("a file of the publisher cannot be unpacked") from error
    if size != file.size_bytes:
        raise ProviderError("a file of the publisher unpacks to another size than it states")
    return digest.digest()
