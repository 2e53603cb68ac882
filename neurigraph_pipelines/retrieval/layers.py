"""Metadata layers in memory: what a process holds of nodes, so that it ranks without reading them again.

What may be read is decided by ``neurigraph.layers`` of the database; what is found in it, by the ranking. A layer is
kept for as long as nothing in its node changes and there is room for it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from neurigraph_pipelines.lexemes import WINDOW_WEIGHTS
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, RECORD_DIMENSIONS, Claims, Role
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]

ROLES = {Role.USER: 1, Role.ASSISTANT: 2}
"""Numbers of the roles that a question may be about; 0 is any other."""

APART = 1 - min(WINDOW_WEIGHTS)
"""From so many places apart on, no window holds two passages."""

_RECORD = np.dtype([("id", "V16"), ("occurred", ">f8"), ("created", ">f8")])
_PASSAGE = np.dtype(
    [
        ("record", "V16"),
        ("seq", ">i4"),
        ("first_message", ">i4"),
        ("window_length", ">f4"),
        ("role", ">i4"),
        ("lexemes", ">i4"),
        ("is_eligible", ">i4"),
    ]
)
_BYTES_OF_LEXEME = 120
_BYTES_OF_PASSAGE = 200
_QUERIES = statements("search")


class Postings:
    """Where lexemes occur, and how often.

    Args:
        lexemes: One after another, with a space between any two.
        rows: Where each of them occurs.
        frequencies: How often each occurs there.
    """

    def __init__(self, lexemes: str, rows: Numbers, frequencies: Floats) -> None:
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(one, len(numbers)) for one in lexemes.split()], np.intp)
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(numbers))
        ends = np.cumsum(counts)
        self._spans = dict(zip(numbers, zip((ends - counts).tolist(), ends.tolist(), strict=True), strict=True))
        self._rows, self._frequencies = rows[order], frequencies[order]

    def of(self, lexeme: str) -> tuple[Numbers, Floats] | None:
        """The rows that have a lexeme, and how often each; None where none has."""
        span = self._spans.get(lexeme)
        if span is None:
            return None
        return self._rows[span[0] : span[1]], self._frequencies[span[0] : span[1]]

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self._rows.nbytes + self._frequencies.nbytes + len(self._spans) * _BYTES_OF_LEXEME


class MetadataLayer:
    """What is known of one node without opening a file: its records, and their passages in the order of what was said.

    Args:
        row: A row of ``neurigraph.layers``.

    Attributes:
        model: Whose vectors these are.
        records: How many.
        record_ids: Of each record.
        occurred: Of each record, seconds since 1970.
        created: Of each record, seconds since 1970.
        source_kinds: Of each record.
        vectors: Of each record, ``(records, dimensions)``; zeros where there is none of the model.
        has_vector: Of each record.
        record_lexemes: Of the records' titles, summaries and keywords.
        record: Of each passage, the row of its record.
        seq: Of each passage, its number in its record.
        first_message: Of each passage, the number of its message in its source.
        external_ids: Of each passage, what its message is called elsewhere.
        place: Of each passage. Those of one record lie as far apart as they were said, up to ``APART``; those of two
            records lie ``APART``. There are ``places`` in all.
        message: Of each passage; those of one message have one number. There are ``messages`` in all.
        window_length: Of each passage, lexemes in its window.
        role: Of each passage, as in ``ROLES``.
        is_eligible: Of each passage; others stand only in the windows of those.
        own: Of each passage, ``(passages, dimensions)``.
        windows: Of each passage's window, as ``own``.
        lexemes: Of the passages.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.model: str | None = row["model"]
        self._read_records(row)
        self._read_passages(row)

    def _read_records(self, row: Mapping[str, Any]) -> None:
        records = np.frombuffer(row["records"] or b"", _RECORD)
        self.records = len(records)
        self.record_ids: list[str] = [str(UUID(bytes=one.tobytes())) for one in records["id"]]
        self.occurred = records["occurred"].astype(np.float64)
        self.created = records["created"].astype(np.float64)
        self.source_kinds = np.array(row["source_kinds"] or (), np.str_)
        self.vectors = _vectors(row["summaries"], ">f4", RECORD_DIMENSIONS)
        self.has_vector = np.asarray(self.vectors.any(axis=1))
        self._shown: list[str] = row["shown"] or []
        self._superseded: dict[int, list[tuple[float | None, float | None]]] = {
            number: json.loads(spans) for number, spans in enumerate(row["superseded"] or ()) if spans is not None
        }
        lexemes: list[str] = row["record_lexemes"] or []
        rows = np.repeat(np.arange(self.records), [len(text.split()) for text in lexemes])
        self.record_lexemes = Postings(" ".join(lexemes), rows, np.ones(len(rows), np.float32))

    def _read_passages(self, row: Mapping[str, Any]) -> None:
        passages = np.frombuffer(row["passages"] or b"", _PASSAGE)
        numbers = {UUID(one).bytes: number for number, one in enumerate(self.record_ids)}
        record = np.array([numbers[one.tobytes()] for one in passages["record"]], np.intp)
        order = np.lexsort((passages["seq"], record))
        sorted_passages = passages[order]
        self.record = record[order]
        self.seq = sorted_passages["seq"].astype(np.intp)
        self.first_message = sorted_passages["first_message"].astype(np.intp)
        self.window_length = sorted_passages["window_length"].astype(np.float32)
        self.role = sorted_passages["role"].astype(np.int8)
        self.is_eligible = sorted_passages["is_eligible"].astype(bool)
        begins = np.diff(self.record, prepend=-1) != 0
        self.place = np.cumsum(np.where(begins, APART, np.minimum(np.diff(self.seq, prepend=0), APART)))
        self.places = int(self.place[-1]) + APART if len(order) else 0
        self.message = np.cumsum(begins | (np.diff(self.first_message, prepend=0) != 0)) - 1
        self.messages = int(self.message[-1]) + 1 if len(order) else 0
        authors, external_ids = row["authors"] or (), row["external_ids"] or ()
        names: dict[str | None, int] = {}
        self._author = np.array([names.setdefault(authors[number], len(names)) for number in order], np.intp)
        self._authors = list(names)
        self.external_ids: list[str | None] = [external_ids[number] for number in order]
        self.own = _vectors(row["own"], ">f2", PASSAGE_DIMENSIONS)[order]
        self.windows = _vectors(row["windows"], ">f2", PASSAGE_DIMENSIONS)[order]
        self.lexemes = Postings(
            row["lexemes"] or "",
            np.repeat(np.argsort(order), passages["lexemes"]),
            np.fromstring(row["frequencies"] or "", np.float32, sep=" "),
        )

    def is_said_by(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Of each passage, whether its author, in lower case, is one of these."""
        return np.array([author in names for author in self._authors], bool)[self._author]

    def shown(self, record: int) -> dict[str, Any]:
        """What a hit says of a record."""
        shown: dict[str, Any] = json.loads(self._shown[record])
        return shown

    def superseded(self, at: float | None) -> list[int]:
        """The records that others have taken the place of, now or at a moment."""
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
        """Bytes, about."""
        arrays = (self.vectors, self.own, self.windows)
        return (
            sum(array.nbytes for array in arrays)
            + self.lexemes.size
            + self.record_lexemes.size
            + sum(map(len, self._shown))
            + len(self.seq) * _BYTES_OF_PASSAGE
        )


class LayerCache:
    """The layers that were used last, up to a number of bytes; threads may share one."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, MetadataLayer]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, node_id: str, version: str, model: str | None) -> MetadataLayer | None:
        """The layer of a node, if it is kept as it is in that version, with vectors of that model."""
        with self._lock:
            found = self._kept.get(node_id)
            if found is None or (found[0], found[1].model) != (version, model):
                return None
            self._kept.move_to_end(node_id)
            return found[1]

    def put(self, node_id: str, version: str, layer: MetadataLayer, most: int) -> None:
        """Keep a layer, and of all what fits into ``most`` bytes."""
        with self._lock:
            before = self._kept.pop(node_id, None)
            self._size += layer.size - (before[1].size if before is not None else 0)
            self._kept[node_id] = (version, layer)
            while self._size > most:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= oldest.size


def read_layers(
    database: Database,
    cache: LayerCache,
    most: int,
    claims: Claims,
    nodes: Sequence[Mapping[str, Any]],
    model: str | None,
    question: Mapping[str, Any],
    embedding: HalfVector | None = None,
) -> dict[str, MetadataLayer]:
    """The layers of nodes, from memory where they are kept as they are now, the others in one trip to the database.

    Args:
        most: Bytes that may be kept; with 0 nothing is, and nothing is taken from what was.
        nodes: With ``node_id``, and the ``version`` that is in force; None where nothing may be kept.
        model: Whose vectors are in use.
        question: As ``neurigraph.layers`` takes it: of a node with vector indexes only its candidates are read.
        embedding: Of the question, for the same.

    Returns:
        By node. One that vanished since its version was asked for is not among them; one whose user moved to another
        model since has vectors of that.
    """
    found: dict[str, MetadataLayer] = {}
    for node in nodes:
        if most and node["version"] is not None:
            layer = cache.get(node["node_id"], node["version"], model)
            if layer is not None:
                found[node["node_id"]] = layer
    missing = [node["node_id"] for node in nodes if node["node_id"] not in found]
    if missing:
        parameters = {"question": Jsonb(question), "nodes": missing, "embedding": embedding}
        for row in database.ask(claims, _QUERIES["layers"], parameters, binary=True):
            node_id, layer = str(row["node_id"]), MetadataLayer(row)
            found[node_id] = layer
            if most and row["version"] is not None:
                cache.put(node_id, row["version"], layer, most)
    return found


def _vectors(sent: bytes | None, kind: str, width: int) -> Floats:
    """``(n, dimensions)`` of vectors as they are sent, each after four bytes of head; zeros at the end are cut off."""
    numbers = np.frombuffer(sent or b"", np.dtype([("head", "V4"), ("vector", kind, width)]))["vector"]
    used = np.flatnonzero(numbers.view(kind.replace("f", "u")).any(axis=0))
    return numbers[:, : used[-1] + 1 if len(used) else 0].astype(np.float32)
