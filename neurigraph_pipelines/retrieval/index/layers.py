"""Metadata layers in memory: what search knows of one node without opening a file.

``neurigraph.layers`` of the database decides what may be read and ``query.load`` reads it. Ranking belongs to
``query.rank``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress, count
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role, Voice
from neurigraph_pipelines.retrieval.index import wire_format
from neurigraph_pipelines.retrieval.index.columns import Columns, joined, new_rows, passage_columns, record_columns
from neurigraph_pipelines.retrieval.index.pack import Pack, Spans
from neurigraph_pipelines.retrieval.index.postings import GONE, Floats, Numbers, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes, means
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.index.texts import RecordTexts, characters_of, texts_of
from neurigraph_pipelines.text.lexemes import WINDOW_WEIGHTS

ROLES = (None, *Role)
"""The roles by their numbers in a layer; None is unknown."""

VOICES = (None, *Voice)
"""The voices by their numbers in a layer; None is unknown."""

APART = 1 - min(WINDOW_WEIGHTS)
"""The distance in places from which on no window holds two passages."""

_BYTES_OF_RECORD, _BYTES_OF_PASSAGE = 300, 200


class MetadataLayer:
    """The records of one node, and their passages in the order in which they were said.

    Args:
        row: A row of ``neurigraph.layers``.
        before: A layer to take over and a mask of the records that stay; those of the row are added to them.

    Attributes:
        model: The embedding model of the vectors.
        horizon: Transactions below it had ended when the layer was read; None if unknown.
        records: The number of records.
        occurred: When each record happened, in seconds since 1970.
        created: When each record was stored, in seconds since 1970.
        importance: How important the owner said each record is, from 0 to 1; 0.5 if nothing was said.
        vectors: The vector of each record, ``(records, dimensions)``; zeros for a record without one of the model.
        lengths: The number of lexemes in the passages of each record.
        passages: The number of passages.
        record: The row of each passage's record.
        seq: The number of each passage in its record.
        first_message: The number of each passage's message in its source.
        place: The place of each passage. Places of one record are as far apart as its passages, up to ``APART``;
            places of two records are ``APART``. There are ``places`` in all.
        message: The number of each passage's message in this layer. There are ``messages`` in all.
        numbers: The record, place and message of each passage, ``(3, passages)``.
        window_length: The number of lexemes in the window of the passage at each place.
        role: The role of each passage's author, as in ``ROLES``.
        voice: Who speaks in each passage, as the server knows it; numbers in ``VOICES``.
        statement: The digest of each passage's words, equal where the same is said again; 0 if unknown.
        are_eligible: Whether all passages may be found.
        held_vectors: The vector of each passage and that of its window, ``(passages, 2, dimensions)``; zeros for a
            passage that is not eligible. None while they are not in memory.
        pack: What it was read from; None if it was read from the node's tables.
        is_used: Whether a question was ranked by it.
        gone: A mask of the records that changed since, which another layer has as they are now; None if none did.
        sign_hashes: Of the mean of each passage's two vectors, once they are computed.
        lexemes: The lexemes of the passages, by place, and from the row ``places`` on those of the records' titles,
            summaries and keywords.
    """

    def __init__(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None = None) -> None:
        self.model: str | None = row["model"]
        self.horizon: int | None = row["horizon"]
        self.pack: Pack | None = None
        self.is_used = False
        self.gone: NDArray[np.bool_] | None = None
        self._read_records(row, before)
        self._read_passages(row, before)

    @classmethod
    def of_pack(cls, pack: Pack, counts: Mapping[str, int], columns: Columns, texts: Sequence[RecordTexts]) -> Self:
        """Return the layer that ``packs`` reads; its vectors are not in memory, and the caller adds its lexemes."""
        layer = cls.__new__(cls)
        layer.model, layer.horizon, layer.pack = pack.model, pack.horizon, pack
        layer._take_records(columns, texts, pack.spans)
        layer._take_passages(columns, pack.author_numbers)
        layer.held_vectors, layer.are_eligible, layer.is_used, layer.gone = None, True, False, None
        layer.messages, layer.places = counts["messages"], counts["places"]
        layer.window_length, layer.numbers = columns["window_lengths"], columns["numbers"]
        layer.record, layer.place, layer.message = layer.numbers
        layer.lengths = columns["lengths"]
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

    def _read_records(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        columns = record_columns(row)
        texts = texts_of(row)
        superseded = {number: json.loads(spans) for number, spans in enumerate(row["superseded"] or ()) if spans}
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
        self.importance = columns["importance"]
        self.vectors: Floats = columns["vectors"]
        self._decoded: dict[int, StoredRecord] = {}

    def _read_passages(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        columns, counts = passage_columns(row, self.record_columns["id"])
        first, hashes, names = 0, None, {}
        labels = list(zip(row["external_ids"] or (), row["sections"] or (), strict=True))
        if before is not None:
            layer, stays = before
            stay = stays[layer.record]
            if layer.sign_hashes is not None:
                hashes = layer.sign_hashes.joined(stay, means(columns["vectors"]))
            first, names = int(stay.sum()), layer.author_numbers
            labels = [*compress(zip(layer.external_ids, layer.sections, strict=True), stay), *labels]
        numbers: dict[str | None, int] = defaultdict(count(len(names)).__next__, names)
        columns["author"] = np.fromiter(map(numbers.__getitem__, row["authors"] or ()), np.int32)
        if before is not None:
            past = layer.passage_columns | {
                "record": new_rows(stays)[layer.record],
                "window_length": layer.window_length[layer.place],
                "is_eligible": layer.is_eligible,
                "vectors": layer.passage_vectors,
            }
            columns = joined(past, stay, columns)
        row_now = np.arange(len(columns["seq"]))
        place = (columns["record"] << 32) + columns["seq"]
        if np.any(place[1:] < place[:-1]):
            order = np.argsort(place, kind="stable")
            row_now[order] = row_now.copy()
            columns = {name: column[order] for name, column in columns.items()}
            hashes = hashes.reordered(order) if hashes is not None else None
            labels = [labels[number] for number in order]
        self.held_vectors: Floats | None = columns.pop("vectors")
        self._take_passages(columns, dict(numbers))
        self._arrange()
        self.external_ids, self.sections = [one for one, _ in labels], [one for _, one in labels]
        self.sign_hashes: SignHashes | None = hashes
        self._read_lexemes(row, before, self.place[row_now[first:]], counts)

    def _take_passages(self, columns: Columns, author_numbers: dict[str | None, int]) -> None:
        self.passage_columns, self.author_numbers = columns, author_numbers
        self.passages = len(columns["seq"])
        self.seq: Numbers = columns["seq"]
        self.first_message: Numbers = columns["first_message"]
        self.role, self.voice, self.statement = columns["role"], columns["voice"], columns["statement"]

    def _arrange(self) -> None:
        """Derive places and messages from the columns of the passages."""
        columns = self.passage_columns
        self.are_eligible = bool(columns["is_eligible"].all())
        record: Numbers = columns["record"]
        begins = np.diff(record, prepend=-1) != 0
        place = np.cumsum(np.where(begins, APART, np.minimum(np.diff(self.seq, prepend=0), APART)))
        message = np.cumsum(begins | (np.diff(self.first_message, prepend=0) != 0)) - 1
        self.places = int(place[-1]) + APART if self.passages else 0
        self.messages = int(message[-1]) + 1 if self.passages else 0
        self.window_length: Floats = np.zeros(self.places, np.float32)
        self.window_length[place] = columns["window_length"]
        self.numbers: Numbers = np.array([record, place, message])
        self.record, self.place, self.message = self.numbers

    def _read_lexemes(
        self,
        row: Mapping[str, Any],
        before: tuple[MetadataLayer, NDArray[np.bool_]] | None,
        places: Numbers,
        counts: NDArray[Any],
    ) -> None:
        """Read the lexemes of the row's passages, at these places and with so many lexemes each, and of its records."""
        past, first = None, 0
        if before is not None:
            layer, stays = before
            records, first = new_rows(stays), int(stays.sum())
            staying = layer.place[stays[layer.record]]
            moved = np.full(layer.places, GONE)
            moved[staying] = self.place[: len(staying)]  # those that stay come first
            past = (layer.lexemes, np.concatenate((moved, np.where(stays, self.places + records, GONE))))
        in_records = [wire_format.decode_distinct_lexemes(text) for text in row["record_lexemes"] or ()]
        record_rows = self.places + np.repeat(
            first + np.arange(len(in_records)), [len(text.split()) for text in in_records]
        )
        total = int(counts.sum())
        self.lexemes: Postings = Postings.of_lexemes(
            " ".join((wire_format.decode_lexemes(row["lexemes"] or "", total), *in_records)),
            np.concatenate((np.repeat(places, counts), record_rows)),
            np.concatenate((wire_format.decode_numbers(row["frequencies"] or "", total), np.ones_like(record_rows))),
            past,
        )
        self.lengths = np.bincount(self.record, self.lexemes.totals(self.places)[self.place], minlength=self.records)

    @property
    def width(self) -> int:
        """The dimensions of the vectors of passages."""
        return self.pack.width if self.pack is not None else self.passage_vectors.shape[2]

    @property
    def passage_vectors(self) -> Floats:
        """The vector of each passage and that of its window, which are in memory."""
        vectors = self.held_vectors
        assert vectors is not None
        return vectors

    def compute_sign_hashes(self) -> None:
        """Hash the vectors of the passages, so that later questions need not be compared with each of them."""
        if self.sign_hashes is None and self.held_vectors is not None and self.passages:
            self.sign_hashes = SignHashes.of(means(self.passage_vectors))

    def is_said_by(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the passages whose author, in lower case, is one of these names."""
        said = [
            number for author, number in self.author_numbers.items() if author and wire_format.lower(author) in names
        ]
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

    @property
    def is_eligible(self) -> NDArray[np.bool_]:
        """Whether each passage may be found; others only count in the windows of those."""
        return self.passage_columns["is_eligible"] if self.pack is None else np.ones(self.passages, bool)

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
        return self.pack.external_ids(self.passages) if self.pack is not None else ()

    @cached_property
    def sections(self) -> Sequence[str | None]:
        """The part of a document that each passage is of."""
        return self.pack.sections(self.passages) if self.pack is not None else ()

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The id of each record, in 16 bytes."""
        return np.ascontiguousarray(self.record_columns["id"]).view("S16")

    @cached_property
    def record_ids(self) -> list[str]:
        """The id of each record."""
        return wire_format.format_ids(self.record_columns["id"])

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
            wire_format.format_id(columns["source"][record].tobytes()),
            texts.source_name,
            wire_format.format_id(columns["file"][record].tobytes()) if self._has_file[record] else None,
            texts.file_state,
            Origin(**json.loads(texts.origin)),
            self._voices_of(record),
        )

    def origin(self, record: int) -> Origin:
        """Return where the record in a row comes from."""
        return self.stored_record(record).origin

    def handed_in_by(self, record: int) -> str:
        """Return the persona that handed in the record in a row, or else its source."""
        stored = self.stored_record(record)
        return stored.origin.persona_id or stored.source_id

    def _voices_of(self, record: int) -> dict[str, int]:
        """Return the number of a record's passages by voice."""
        counts = self._voice_counts[record].tolist()
        return {str(voice): count for voice, count in zip(VOICES, counts, strict=True) if count and voice is not None}

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
            + (self.held_vectors.nbytes if self.held_vectors is not None else 0)
            + self.lexemes.size
            + self._characters
            + self.records * _BYTES_OF_RECORD
            + self.passages * _BYTES_OF_PASSAGE
        )
