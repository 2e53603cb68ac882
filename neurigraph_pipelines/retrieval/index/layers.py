"""Metadata layers in memory: the data that search has of one node without opening a file.

``neurigraph.layers`` of the database decides what may be read and ``query.load`` reads it. Ranking belongs to
``query.rank``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, compress, count
from typing import Self

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.columns import (
    Columns,
    Records,
    Spans,
    joined,
    joined_column,
    joint,
    new_rows,
    passage_columns,
    vectors_of,
)
from neurigraph_pipelines.retrieval.index.packed_rows import decode_distinct_lexemes, format_id, format_ids
from neurigraph_pipelines.retrieval.index.postings import GONE, Floats, Numbers, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.index.texts import RecordTexts, characters_of
from neurigraph_pipelines.text.lexemes import WINDOW_WEIGHTS
from neurigraph_pipelines.text.search_segments import VOICES, lexeme_keys, lower

APART = 1 - min(WINDOW_WEIGHTS)
"""The distance in places from which on no window holds two passages."""

_BYTES_OF_RECORD, _BYTES_OF_PASSAGE = 300, 200


class HeldVectors:
    """The vectors of a layer's passages, if they are in memory; layers that share their arrays share this.

    Attributes:
        vectors: The vector of each passage, ``(passages, dimensions)``.
        are_wanted: Whether a question compared some of them before.
    """

    __slots__ = ("are_wanted", "vectors")

    def __init__(self, vectors: Floats | None = None) -> None:
        self.vectors = vectors
        self.are_wanted = False


class MetadataLayer:
    """The records of one node, and their passages in the order in which they were said.

    Args:
        records: The records that it is made of.
        before: A layer to take over and a mask of the records that stay; the records are added to them.

    Attributes:
        model: The embedding model of the vectors.
        horizon: Transactions below it had ended when the layer was read; None if unknown.
        records: The number of records.
        occurred: When each record happened, in seconds since 1970.
        created: When each record was stored, in seconds since 1970.
        importance: How important the owner said each record is, from 0 to 1; 0.5 if nothing was said.
        vectors: The vector of each record, ``(records, dimensions)``; zeros for a record without one of the model.
        lengths: The number of lexemes in the passages of each record.
        spans: The stretches of time in which each superseded record was superseded, by its row.
        passages: The number of passages.
        record: The row of each passage's record.
        seq: The number of each passage in its record.
        first_message: The number of each passage's message in its source.
        role: The role of each passage's author, as in ``ROLES``.
        voice: Who speaks in each passage, as the server knows it; numbers in ``VOICES``.
        statement: The digest of each passage's words, equal where the same is said again; 0 if unknown.
        held: The vectors of the passages, if they are in memory.
        gone: A mask of the records that changed since, which another layer has as they are now; None if none did.
        sign_hashes: Of the vectors of the passages, once they are computed.
        lexemes: The lexemes of the passages, by place, and from the row ``places`` on those of the records' titles,
            summaries and keywords.
    """

    def __init__(
        self,
        records: Records,
        model: str | None = None,
        horizon: int | None = None,
        before: tuple[MetadataLayer, NDArray[np.bool_]] | None = None,
    ) -> None:
        self.model, self.horizon = model, horizon
        self.gone: NDArray[np.bool_] | None = None
        self.held = HeldVectors()
        self._packed_labels = (b"", b"")
        self._read_records(records, before)
        self._read_passages(records, before)

    @classmethod
    def of_pack(
        cls,
        columns: tuple[Columns, Columns],
        texts: Sequence[RecordTexts],
        spans: dict[int, Spans],
        authors: Sequence[str | None],
        labels: tuple[bytes, bytes],
        lexemes: Postings,
        hashes: SignHashes | None,
    ) -> Self:
        """Return the layer that ``packs`` reads; the vectors of its passages are not in memory.

        Args:
            columns: Of the records, and of the passages.
            authors: The authors of passages by their numbers.
            labels: The external ids of the messages of passages, and their sections, as JSON; empty if there are none.
        """
        layer = cls.__new__(cls)
        layer.model, layer.horizon, layer.gone, layer.sign_hashes = None, None, None, hashes
        layer._take_records(columns[0], texts, spans)
        layer._take_passages(columns[1], {author: number for number, author in enumerate(authors)})
        layer._packed_labels, layer.held = labels, HeldVectors()
        layer.lexemes = lexemes
        return layer

    def without(self, ids: NDArray[np.bytes_]) -> MetadataLayer:
        """Return this layer without some records, given by their ids; it shares all arrays."""
        gone = np.isin(self.ids, ids)
        if self.gone is not None:
            gone |= self.gone
        if not gone.any():
            return self
        layer = copy(self)
        layer.gone = gone
        layer.__dict__.pop("gone_passages", None)
        return layer

    @cached_property
    def gone_passages(self) -> Numbers:
        """The passages of the records that are gone."""
        return np.flatnonzero(self.gone[self.record]) if self.gone is not None else np.zeros(0, np.intp)

    def _read_records(self, records: Records, before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        columns = records.columns | {
            "lengths": np.array([one.rows["lexeme_count"].sum() for one in records.segments], np.float64)
        }
        texts, superseded = records.texts, records.superseded
        if before is not None:
            layer, stays = before
            columns = joined(layer.record_columns, stays, columns)
            texts = [*compress(layer.texts, stays), *texts]
            first, rows = int(stays.sum()), new_rows(stays)
            superseded = {first + number: spans for number, spans in superseded.items()}
            superseded |= {int(rows[number]): spans for number, spans in layer.spans.items() if stays[number]}
        self._take_records(columns, texts, superseded)

    def _take_records(self, columns: Columns, texts: Sequence[RecordTexts], superseded: dict[int, Spans]) -> None:
        self.record_columns, self.texts, self.spans = columns, texts, superseded
        self.records = len(columns["id"])
        self.occurred, self.created = columns["occurred"], columns["created"]
        self.importance, self.lengths = columns["importance"], columns["lengths"]
        self.vectors: Floats = columns["vectors"]
        self._decoded: dict[int, StoredRecord] = {}

    def _read_passages(self, records: Records, before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        segments = records.segments
        numbers: defaultdict[str | None, int] = defaultdict()
        numbers.default_factory = count(len(before[0].author_numbers) if before is not None else 0).__next__
        numbers.update(before[0].author_numbers if before is not None else {})
        columns = passage_columns(segments, numbers)
        added = vectors_of(segments, records.vectors)
        vectors: Floats | None = added
        external_ids = [one for segment in segments for one in segment.external_ids]
        sections = [one for segment in segments for one in segment.named("section")]
        first, hashes = 0, None
        if before is not None:
            layer, stays = before
            stay = stays[layer.record]
            first = int(stay.sum())
            columns["record"] += int(stays.sum())
            past = layer.passage_columns | {"record": new_rows(stays)[layer.record]}
            columns = joined(past, stay, columns)
            external_ids = [*compress(layer.external_ids, stay), *external_ids]
            sections = [*compress(layer.sections, stay), *sections]
            if layer.sign_hashes is not None:
                hashes = layer.sign_hashes.joined(stay, added)
            known = layer.held.vectors
            vectors = joined_column(known, stay, added) if known is not None else None
        self._take_passages(columns, dict(numbers))
        self.external_ids, self.sections, self.held = external_ids, sections, HeldVectors(vectors)
        self.sign_hashes: SignHashes | None = hashes
        self._read_lexemes(records, before, self.place[first:])

    def _take_passages(self, columns: Columns, author_numbers: dict[str | None, int]) -> None:
        self.passage_columns, self.author_numbers = columns, author_numbers
        self.passages = len(columns["seq"])
        self.seq: Numbers = columns["seq"]
        self.first_message: Numbers = columns["first_message"]
        self.role, self.voice, self.statement = columns["role"], columns["voice"], columns["statement"]
        self.record: Numbers = columns["record"]

    @cached_property
    def place(self) -> Numbers:
        """The place of each passage."""
        return places_of(self.record, self.seq)

    @property
    def places(self) -> int:
        """The number of places."""
        return int(self.place[-1]) + APART if self.passages else 0

    def _read_lexemes(
        self, records: Records, before: tuple[MetadataLayer, NDArray[np.bool_]] | None, places: Numbers
    ) -> None:
        """Read the lexemes of the added passages, which are at these places, and of their records."""
        past, first = None, 0
        if before is not None:
            layer, stays = before
            rows, first = new_rows(stays), int(stays.sum())
            staying = layer.place[stays[layer.record]]
            moved = np.full(layer.places, GONE)
            moved[staying] = self.place[: len(staying)]  # those that stay come first
            past = (layer.lexemes, np.concatenate((moved, np.where(stays, self.places + rows, GONE))))
        segments = records.segments
        counts = joint([segment.rows["lexemes"] for segment in segments], np.int32)
        of_records = [decode_distinct_lexemes(text) for text in records.lexemes]
        record_rows = self.places + np.repeat(first + np.arange(len(of_records)), list(map(len, of_records)))
        keys = [*(segment.keys for segment in segments), lexeme_keys(chain.from_iterable(of_records))]
        frequencies = [*(segment.frequencies for segment in segments), np.ones(len(record_rows), np.uint16)]
        self.lexemes: Postings = Postings.of(
            np.concatenate(keys),
            np.concatenate((np.repeat(places, counts), record_rows)),
            np.concatenate(frequencies),
            past,
        )

    @property
    def width(self) -> int:
        """The dimensions of the vectors of passages."""
        if self.held.vectors is not None:
            width: int = self.held.vectors.shape[1]
            return width
        return self.sign_hashes.dimensions if self.sign_hashes is not None else 0

    def compute_sign_hashes(self) -> None:
        """Hash the vectors of the passages, so that later questions need not be compared with each of them."""
        if self.sign_hashes is None and self.held.vectors is not None and self.passages:
            self.sign_hashes = SignHashes.of(self.held.vectors)

    def is_said_by(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the passages whose author, in lower case, is one of these names."""
        said = [number for author, number in self.author_numbers.items() if author and lower(author) in names]
        return np.isin(self.passage_columns["author"], said)

    def author(self, passage: int) -> str | None:
        """Return the author that the writer of a passage stated."""
        number: int = self.passage_columns["author"].item(passage)
        return self._authors[number]

    @cached_property
    def _authors(self) -> list[str | None]:
        """The distinct authors by their numbers."""
        return list(self.author_numbers)

    @property
    def current_statements(self) -> NDArray[np.int64]:
        """The digests of the words of all passages, without those of records that are gone."""
        return self.statement if self.gone is None else np.delete(self.statement, self.gone_passages)

    @cached_property
    def has_vector(self) -> NDArray[np.bool_]:
        """Whether each record has a vector."""
        return np.asarray(self.vectors.any(axis=1))

    @cached_property
    def _has_file(self) -> NDArray[np.bool_]:
        """Whether each record has a file."""
        packed = np.frombuffer(self.record_columns["file"].tobytes(), np.uint8)
        return np.asarray(packed.reshape(-1, 16).any(axis=1))

    @cached_property
    def external_ids(self) -> Sequence[str | None]:
        """The external id of each passage's message."""
        return _unpacked(self._packed_labels[0], self.passages)

    @cached_property
    def sections(self) -> Sequence[str | None]:
        """The part of a document that each passage is of."""
        return _unpacked(self._packed_labels[1], self.passages)

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The id of each record, in 16 bytes."""
        return np.ascontiguousarray(self.record_columns["id"]).view("S16")

    @cached_property
    def record_ids(self) -> list[str]:
        """The id of each record."""
        return format_ids(self.record_columns["id"])

    @cached_property
    def source_kinds(self) -> NDArray[np.str_]:
        """The source kind of each record."""
        return np.array([texts.source_kind for texts in self.texts], np.str_)

    def stored_record(self, record: int) -> StoredRecord:
        """Return the record in a row; it is decoded once."""
        stored = self._decoded.get(record)
        if stored is None:
            stored = self._decoded[record] = self._decode(record)
        return stored

    def _decode(self, record: int) -> StoredRecord:
        columns, texts = self.record_columns, self.texts[record]
        return StoredRecord(
            self.record_ids[record],
            texts.title,
            texts.summary,
            # Exact to the microsecond: in the years that can be stored a float is off by less than half of one.
            datetime.fromtimestamp(float(self.occurred[record]), UTC),
            texts.source_kind,
            format_id(columns["source"][record].tobytes()),
            texts.source_name,
            format_id(columns["file"][record].tobytes()) if self._has_file[record] else None,
            texts.file_state,
            Origin(**json.loads(texts.origin)),
            self._voices_of(record),
        )

    def handed_in_by(self, record: int) -> str:
        """Return the persona that handed in the record in a row, or else its source."""
        stored = self.stored_record(record)
        return stored.origin.persona_id or stored.source_id

    def _voices_of(self, record: int) -> dict[str, int]:
        """Return the number of a record's passages by voice."""
        counts = self._voice_counts[record].tolist()
        return {str(voice): times for voice, times in zip(VOICES, counts, strict=True) if times and voice is not None}

    @cached_property
    def _voice_counts(self) -> Numbers:
        """The number of passages by record and voice, ``(records, voices)``."""
        pairs = self.record * len(VOICES) + self.voice
        return np.bincount(pairs, minlength=self.records * len(VOICES)).reshape(self.records, len(VOICES))

    def superseded(self, at: float | None) -> list[int]:
        """Return the rows of the records that are superseded, now or at a moment in seconds since 1970."""
        return [
            number
            for number, spans in self.spans.items()
            if any(
                end is None if at is None else (begin is None or begin <= at) and (end is None or at < end)
                for begin, end in spans
            )
        ]

    @cached_property
    def _characters(self) -> int:
        return characters_of(self.texts)

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return (
            self.vectors.nbytes
            + (self.held.vectors.nbytes if self.held.vectors is not None else 0)
            + self.lexemes.size
            + self._characters
            + self.records * _BYTES_OF_RECORD
            + self.passages * _BYTES_OF_PASSAGE
        )


def places_of(record: Numbers, seq: Numbers, layer: Numbers | int = 0) -> Numbers:
    """Return the places of passages: the numbers by which windows are found.

    Places of one record are as far apart as its passages, up to ``APART``; places of two records are ``APART``. Before
    and after the places of a layer there are ``APART`` others.

    Args:
        record: The row of each passage's record.
        seq: The number of each passage in its record.
        layer: The number of each passage's layer among those that have passages.
    """
    apart = np.where(np.diff(record, prepend=-1) != 0, APART, np.minimum(np.diff(seq, prepend=0), APART))
    places: Numbers = np.cumsum(apart, dtype=np.intp) + APART * layer
    return places


def _unpacked(packed: bytes, passages: int) -> Sequence[str | None]:
    texts: list[str | None] = json.loads(packed) if packed else [None] * passages
    return texts
