"""Metadata layers in memory: what search knows of one node without opening a file.

``neurigraph.layers`` of the database decides what may be read and ``query.load`` reads it. Ranking belongs to
``query.rank``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role, Voice
from neurigraph_pipelines.retrieval.index.columns import Columns, joined, new_rows
from neurigraph_pipelines.retrieval.index.postings import GONE, Floats, Numbers, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.index.wire_format import (
    decode_distinct_lexemes,
    decode_lexemes,
    decode_numbers,
    decode_vectors,
    find_rows,
    format_id,
    format_ids,
)
from neurigraph_pipelines.text.lexemes import WINDOW_WEIGHTS

ROLES = {Role.USER: 1, Role.ASSISTANT: 2}
"""Numbers of the roles that a question may be about; 0 is any other."""

VOICES = (None, *Voice)
"""The voices by their numbers in a layer; None is unknown."""

APART = 1 - min(WINDOW_WEIGHTS)
"""The distance in places from which on no window holds two passages."""

_PRESENT = np.dtype([("id", "V16"), ("passages", ">i4"), ("has_file", ">i4")])
RECORD_ROW = np.dtype(
    [
        ("id", "V16"),
        ("occurred", ">f8"),
        ("created", ">f8"),
        ("source", "V16"),
        ("file", "V16"),
        ("importance", ">f4"),
    ]
)
PASSAGE_ROW = np.dtype(
    [
        ("record", "V16"),
        ("seq", ">i4"),
        ("first_message", ">i4"),
        ("window_length", ">f4"),
        ("unused", ">i2"),
        ("voice", "i1"),
        ("role", "i1"),
        ("statement", ">i8"),
        ("lexemes", ">i4"),
        ("is_eligible", ">i4"),
    ]
)
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
        record_ids: The id of each record.
        occurred: When each record happened, in seconds since 1970.
        created: When each record was stored, in seconds since 1970.
        importance: How important the owner said each record is, from 0 to 1; 0.5 if nothing was said.
        source_kinds: The source kind of each record.
        vectors: The vector of each record, ``(records, dimensions)``; zeros for a record without one of the model.
        has_vector: Whether each record has a vector.
        lengths: The number of lexemes in the passages of each record.
        passages: The number of passages.
        record: The row of each passage's record.
        seq: The number of each passage in its record.
        first_message: The number of each passage's message in its source.
        external_ids: The external id of each passage's message.
        place: The place of each passage. Places of one record are as far apart as its passages, up to ``APART``;
            places of two records are ``APART``. There are ``places`` in all.
        message: The number of each passage's message in this layer. There are ``messages`` in all.
        numbers: The record, place and message of each passage, ``(3, passages)``.
        window_length: The number of lexemes in the window of the passage at each place.
        role: The role of each passage's author, as in ``ROLES``.
        voice: Who speaks in each passage, as the server knows it; numbers in ``VOICES``.
        statement: The digest of each passage's words, equal where the same is said again; 0 if unknown.
        is_eligible: Whether each passage may be found; others only count in the windows of those.
        are_eligible: Whether all passages may be found.
        passage_vectors: The vector of each passage and that of its window, ``(passages, 2, dimensions)``; zeros for a
            passage that is not eligible.
        sign_hashes: Of the mean of each passage's two vectors, once they are computed.
        lexemes: The lexemes of the passages, by place, and from the row ``places`` on those of the records' titles,
            summaries and keywords.
    """

    def __init__(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None = None) -> None:
        self.model: str | None = row["model"]
        self.horizon: int | None = row["horizon"]
        self._read_records(row, before)
        self._read_passages(row, before)

    def updated(self, row: Mapping[str, Any]) -> MetadataLayer | None:
        """Return this layer with the changes of a row that says what is ``present``.

        Returns:
            None if the row does not hold all changes: deletions show only in the counts of what is left.
        """
        changed = {one.tobytes() for one in np.frombuffer(row["records"] or b"", RECORD_ROW)["id"]}
        sent = np.frombuffer(row["present"], _PRESENT)
        numbers = zip(sent["passages"].tolist(), sent["has_file"].tolist(), strict=True)
        present = dict(zip((one.tobytes() for one in sent["id"]), numbers, strict=True))
        counts = np.bincount(self.record, minlength=self.records)
        stays = np.zeros(self.records, bool)
        for number, one in enumerate(self._records["id"]):
            record = one.tobytes()
            if record in present and record not in changed:
                if present.pop(record) != (counts[number], self._has_file[number]):
                    return None
                stays[number] = True
        return MetadataLayer(row, (self, stays)) if present.keys() == changed else None

    def _read_records(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        sent = np.frombuffer(row["records"] or b"", RECORD_ROW)
        columns: Columns = {
            "id": sent["id"],
            "occurred": sent["occurred"].astype(np.float64),
            "created": sent["created"].astype(np.float64),
            "source": sent["source"],
            "file": sent["file"],
            "importance": sent["importance"].astype(np.float64),
            "source_kinds": np.array(row["source_kinds"] or (), np.str_),
            "titles": np.array(row["titles"] or (), object),
            "summaries": np.array(row["summaries"] or (), object),
            "source_names": np.array(row["source_names"] or (), object),
            "file_states": np.array(row["file_states"] or (), object),
            "origins": np.array(row["origins"] or (), object),
            "superseded": np.array(row["superseded"] or (), object),
            "vectors": decode_vectors(row["summary_vectors"], ">f4", len(sent)),
        }
        if before is not None:
            columns = joined(before[0]._records, before[1], columns)
        self._records: Columns = columns
        self.records = len(columns["id"])
        self.record_ids = format_ids(columns["id"])
        self.occurred, self.created = columns["occurred"], columns["created"]
        self.importance = columns["importance"]
        self.source_kinds = columns["source_kinds"]
        self.vectors: Floats = columns["vectors"]
        self.has_vector = np.asarray(self.vectors.any(axis=1))
        self._sources, self._files = columns["source"].tobytes(), columns["file"].tobytes()
        self._has_file = np.asarray(np.frombuffer(self._files, np.uint8).reshape(-1, 16).any(axis=1))
        self._decoded: dict[int, StoredRecord] = {}
        self._superseded: dict[int, list[tuple[float | None, float | None]]] = {
            number: json.loads(spans) for number, spans in enumerate(columns["superseded"]) if spans is not None
        }

    def _read_passages(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        sent = np.frombuffer(row["passages"] or b"", PASSAGE_ROW)
        is_eligible = sent["is_eligible"].astype(bool)
        vectors = decode_vectors(row["vectors"], ">f2", 2 * int(is_eligible.sum()))
        vectors = vectors.reshape(len(vectors) // 2, 2, vectors.shape[1])
        if len(vectors) < len(sent):
            of_eligible, vectors = vectors, np.zeros((len(sent), *vectors.shape[1:]), np.float32)
            vectors[is_eligible] = of_eligible
        columns: Columns = {
            "record": find_rows(sent["record"], self._records["id"]),
            "seq": sent["seq"].astype(np.intp),
            "first_message": sent["first_message"].astype(np.intp),
            "window_length": sent["window_length"].astype(np.float32),
            "role": sent["role"],
            "voice": sent["voice"],
            "statement": sent["statement"].astype(np.int64),
            "is_eligible": is_eligible,
            "authors": np.array(row["authors"] or (), object),
            "external_ids": np.array(row["external_ids"] or (), object),
            "vectors": vectors,
        }
        first, hashes = 0, None
        if before is not None:
            layer, stays = before
            stay = stays[layer.record]
            if layer.sign_hashes is not None:
                hashes = layer.sign_hashes.joined(stay, _means(columns["vectors"]))
            first = int(stay.sum())
            columns = joined(layer._passages | {"record": new_rows(stays)[layer.record]}, stay, columns)
        row_now = np.arange(len(columns["seq"]))
        place = (columns["record"] << 32) + columns["seq"]
        if np.any(place[1:] < place[:-1]):
            order = np.argsort(place, kind="stable")
            row_now[order] = row_now.copy()
            columns = {name: column[order] for name, column in columns.items()}
            hashes = hashes.reordered(order) if hashes is not None else None
        self._passages: Columns = columns
        self.seq: Numbers = columns["seq"]
        self.first_message: Numbers = columns["first_message"]
        self.role, self.voice, self.statement = columns["role"], columns["voice"], columns["statement"]
        self.is_eligible = columns["is_eligible"]
        self.are_eligible = bool(self.is_eligible.all())
        self.external_ids = columns["external_ids"]
        self.passage_vectors: Floats = columns["vectors"]
        self.sign_hashes: SignHashes | None = hashes
        self._arrange()
        self._read_lexemes(row, before, self.place[row_now[first:]], sent["lexemes"])

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
        in_records = [decode_distinct_lexemes(text) for text in row["record_lexemes"] or ()]
        record_rows = self.places + np.repeat(
            first + np.arange(len(in_records)), [len(text.split()) for text in in_records]
        )
        total = int(counts.sum())
        self.lexemes: Postings = Postings(
            " ".join((decode_lexemes(row["lexemes"] or "", total), *in_records)),
            np.concatenate((np.repeat(places, counts), record_rows)),
            np.concatenate((decode_numbers(row["frequencies"] or "", total), np.ones_like(record_rows))),
            past,
        )
        self.lengths = np.bincount(self.record, self.lexemes.totals(self.places)[self.place], minlength=self.records)

    def _arrange(self) -> None:
        """Derive places, messages and author numbers from the columns of the passages."""
        record: Numbers = self._passages["record"]
        begins = np.diff(record, prepend=-1) != 0
        place = np.cumsum(np.where(begins, APART, np.minimum(np.diff(self.seq, prepend=0), APART)))
        message = np.cumsum(begins | (np.diff(self.first_message, prepend=0) != 0)) - 1
        self.passages = len(record)
        self.places = int(place[-1]) + APART if self.passages else 0
        self.messages = int(message[-1]) + 1 if self.passages else 0
        self.window_length = np.zeros(self.places, np.float32)
        self.window_length[place] = self._passages["window_length"]
        self.numbers = np.array([record, place, message])
        self.record, self.place, self.message = self.numbers
        numbers: dict[str | None, int] = defaultdict(count().__next__)
        self._author = np.fromiter(map(numbers.__getitem__, self._passages["authors"]), np.intp, self.passages)
        self._authors = dict(numbers)

    def compute_sign_hashes(self) -> None:
        """Hash the vectors of the passages, so that later questions need not be compared with each of them."""
        if self.sign_hashes is None and self.passages:
            self.sign_hashes = SignHashes.of(_means(self.passage_vectors))

    def is_said_by(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the passages whose author, in lower case, is one of these names."""
        return np.isin(
            self._author, [number for author, number in self._authors.items() if author and _lower(author) in names]
        )

    def author(self, passage: int) -> str | None:
        """Return the author that the writer of a passage stated."""
        author: str | None = self._passages["authors"][passage]
        return author

    def restated(self, statements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of passages with each of these digests of their words; 0 for the unknown digest 0."""
        keys, counts = self._statements
        if not len(keys):
            return np.zeros(len(statements), np.int64)
        places = np.minimum(np.searchsorted(keys, statements), len(keys) - 1)
        return np.where(keys[places] == statements, counts[places], 0)

    @cached_property
    def _statements(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct digests of the passages, in order, with the number of passages of each."""
        return np.unique(self.statement[self.statement != 0], return_counts=True)

    def stored_record(self, record: int) -> StoredRecord:
        """Return the record in a row; it is decoded once."""
        stored = self._decoded.get(record)
        if stored is None:
            stored = self._decoded[record] = self._decode(record)
        return stored

    def _decode(self, record: int) -> StoredRecord:
        columns, packed = self._records, slice(16 * record, 16 * record + 16)
        return StoredRecord(
            self.record_ids[record],
            columns["titles"][record],
            columns["summaries"][record],
            # Exact to the microsecond: in the years that can be stored a float is off by less than half of one.
            datetime.fromtimestamp(float(self.occurred[record]), UTC),
            str(self.source_kinds[record]),
            format_id(self._sources[packed]),
            columns["source_names"][record],
            format_id(self._files[packed]) if self._has_file[record] else None,
            columns["file_states"][record],
            Origin(**json.loads(columns["origins"][record])),
            self._voices_of(record),
        )

    def origin(self, record: int) -> Origin:
        """Return where the record in a row comes from."""
        return self.stored_record(record).origin

    def handed_in_by(self, record: int) -> str:
        """Return the persona that handed in the record in a row, or else its source."""
        stored = self.stored_record(record)
        return stored.origin.persona_id or stored.source_id

    def messages_of(self, source_id: str) -> set[int]:
        """Return the numbers of the messages of a source that this layer holds."""
        rows = np.isin(self.record, self.rows_of_sources[source_id])
        return set(self.first_message[rows].tolist())

    @cached_property
    def rows_of_sources(self) -> dict[str, list[int]]:
        """The rows of the records of each source, by its id."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row, source_id in enumerate(format_ids(self._records["source"])):
            rows[source_id].append(row)
        return rows

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
            for number, spans in self._superseded.items()
            if any(
                end is None if at is None else (begin is None or begin <= at) and (end is None or at < end)
                for begin, end in spans
            )
        ]

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return (
            self.vectors.nbytes
            + self.passage_vectors.nbytes
            + self.lexemes.size
            + sum(map(len, self._records["titles"]))
            + sum(map(len, self._records["summaries"]))
            + self.records * _BYTES_OF_RECORD
            + self.passages * _BYTES_OF_PASSAGE
        )


def _lower(name: str) -> str:
    """Return a name in lower case as Postgres makes it: character by character."""
    return "".join(map(str.lower, name))


def _means(vectors: Floats) -> Floats:
    """Return ``(passages, dimensions)``: the mean of each passage's own vector and that of its window."""
    return (vectors[:, 0] + vectors[:, 1]) * np.float32(0.5)
