"""Metadata layers in memory: what a process holds of nodes, so that it ranks without reading them again.

What may be read is decided by ``neurigraph.layers`` of the database; what is found in it, by the ranking. A layer is
kept for as long as nothing in its node changes and there is room for it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from neurigraph_pipelines.model import Claims, Role
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.retrieval.index.postings import GONE, Floats, Numbers, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import Signs
from neurigraph_pipelines.retrieval.index.wire_format import (
    distinct_lexemes,
    numbers_of,
    plain_lexemes,
    rows_of,
    sent_vectors,
    written_ids,
)
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.lexemes import WINDOW, WINDOW_WEIGHTS

Columns = dict[str, NDArray[Any]]

ROLES = {Role.USER: 1, Role.ASSISTANT: 2}
"""Numbers of the roles that a question may be about; 0 is any other."""

APART = 1 - min(WINDOW_WEIGHTS)
"""From so many places apart on, no window holds two passages."""

_PRESENT = np.dtype([("id", "V16"), ("passages", ">i4"), ("shows_file", ">i4")])
_RECORD = np.dtype([("id", "V16"), ("occurred", ">f8"), ("created", ">f8"), ("shows_file", ">i4")])
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
_BYTES_OF_PASSAGE = 200
_ALL = {"question": Jsonb(WINDOW), "embedding": None}
_QUERIES = statements("search")


class MetadataLayer:
    """What is known of one node without opening a file: its records, and their passages in the order of what was said.

    Args:
        row: A row of ``neurigraph.layers``.
        before: A layer to take over, and which of its records stay; what the row holds is added to them.

    Attributes:
        model: Whose vectors these are.
        horizon: Transactions below it were over when this was read; None where that is not known.
        records: How many.
        record_ids: Of each record.
        occurred: Of each record, seconds since 1970.
        created: Of each record, seconds since 1970.
        source_kinds: Of each record.
        vectors: Of each record, ``(records, dimensions)``; zeros where there is none of the model.
        has_vector: Of each record.
        lengths: Of each record, the lexemes of its passages.
        passages: How many.
        record: Of each passage, the row of its record.
        seq: Of each passage, its number in its record.
        first_message: Of each passage, the number of its message in its source.
        external_ids: Of each passage, what its message is called elsewhere.
        place: Of each passage. Those of one record lie as far apart as they were said, up to ``APART``; those of two
            records lie ``APART``. There are ``places`` in all.
        message: Of each passage; those of one message have one number. There are ``messages`` in all.
        numbers: Of each passage its record, place and message, ``(3, passages)``.
        window_length: Of each place, lexemes in the window of its passage.
        role: Of each passage, as in ``ROLES``.
        is_eligible: Of each passage; others stand only in the windows of those.
        are_eligible: Whether all are.
        passage_vectors: Of each passage, its own and that of its window, ``(passages, 2, dimensions)``; zeros where it
            is not eligible.
        signs: Of the means of each passage's two vectors, once they were taken.
        lexemes: Of the passages, by place; and, from the row ``places`` on, of the records' titles, summaries and
            keywords.
    """

    def __init__(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None = None) -> None:
        self.model: str | None = row["model"]
        self.horizon: int | None = row["horizon"]
        self._take_records(row, before)
        self._take_passages(row, before)

    def updated(self, row: Mapping[str, Any]) -> MetadataLayer | None:
        """This layer with what changed since, of a row that says what is ``present``.

        Returns:
            None where more changed than the row tells: what was only deleted shows in the numbers of what is left.
        """
        changed = {one.tobytes() for one in np.frombuffer(row["records"] or b"", _RECORD)["id"]}
        present = np.frombuffer(row["present"], _PRESENT)
        numbers = zip(present["passages"].tolist(), present["shows_file"].tolist(), strict=True)
        told = dict(zip((one.tobytes() for one in present["id"]), numbers, strict=True))
        counts = np.bincount(self.record, minlength=self.records)
        stays = np.zeros(self.records, bool)
        for number, one in enumerate(self._records["id"]):
            record = one.tobytes()
            if record in told and record not in changed:
                if told.pop(record) != (counts[number], self._records["shows_file"][number]):
                    return None
                stays[number] = True
        return MetadataLayer(row, (self, stays)) if told.keys() == changed else None

    def _take_records(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        sent = np.frombuffer(row["records"] or b"", _RECORD)
        columns: Columns = {
            "id": sent["id"],
            "occurred": sent["occurred"].astype(np.float64),
            "created": sent["created"].astype(np.float64),
            "shows_file": sent["shows_file"].astype(np.intp),
            "source_kinds": np.array(row["source_kinds"] or (), np.str_),
            "shown": np.array(row["shown"] or (), object),
            "source_names": np.array(row["source_names"] or (), object),
            "superseded": np.array(row["superseded"] or (), object),
            "vectors": sent_vectors(row["summaries"], ">f4", len(sent)),
        }
        if before is not None:
            columns = _joined(before[0]._records, before[1], columns)
        self._records: Columns = columns
        self.records = len(columns["id"])
        self.record_ids = written_ids(columns["id"])
        self.occurred, self.created = columns["occurred"], columns["created"]
        self.source_kinds = columns["source_kinds"]
        self.vectors: Floats = columns["vectors"]
        self.has_vector = np.asarray(self.vectors.any(axis=1))
        self._superseded: dict[int, list[tuple[float | None, float | None]]] = {
            number: json.loads(spans) for number, spans in enumerate(columns["superseded"]) if spans is not None
        }

    def _take_passages(self, row: Mapping[str, Any], before: tuple[MetadataLayer, NDArray[np.bool_]] | None) -> None:
        sent = np.frombuffer(row["passages"] or b"", _PASSAGE)
        is_eligible = sent["is_eligible"].astype(bool)
        vectors = sent_vectors(row["vectors"], ">f2", 2 * int(is_eligible.sum()))
        vectors = vectors.reshape(len(vectors) // 2, 2, vectors.shape[1])
        if len(vectors) < len(sent):
            told, vectors = vectors, np.zeros((len(sent), *vectors.shape[1:]), np.float32)
            vectors[is_eligible] = told
        columns: Columns = {
            "record": rows_of(sent["record"], self._records["id"]),
            "seq": sent["seq"].astype(np.intp),
            "first_message": sent["first_message"].astype(np.intp),
            "window_length": sent["window_length"].astype(np.float32),
            "role": sent["role"].astype(np.int8),
            "is_eligible": is_eligible,
            "authors": np.array(row["authors"] or (), object),
            "external_ids": np.array(row["external_ids"] or (), object),
            "vectors": vectors,
        }
        first, signs = 0, None
        if before is not None:
            layer, stays = before
            stay = stays[layer.record]
            signs = layer.signs.joined(stay, _mixed(columns["vectors"])) if layer.signs is not None else None
            first = int(stay.sum())
            columns = _joined(layer._passages | {"record": _moved(stays)[layer.record]}, stay, columns)
        now = np.arange(len(columns["seq"]))
        place = (columns["record"] << 32) + columns["seq"]
        if np.any(place[1:] < place[:-1]):
            order = np.argsort(place, kind="stable")
            now[order] = now.copy()
            columns = {name: column[order] for name, column in columns.items()}
            signs = signs.reordered(order) if signs is not None else None
        self._passages: Columns = columns
        self.seq: Numbers = columns["seq"]
        self.first_message: Numbers = columns["first_message"]
        self.role = columns["role"]
        self.is_eligible = columns["is_eligible"]
        self.are_eligible = bool(self.is_eligible.all())
        self.external_ids = columns["external_ids"]
        self.passage_vectors: Floats = columns["vectors"]
        self.signs: Signs | None = signs
        self._arrange()
        self._take_lexemes(row, before, self.place[now[first:]], sent["lexemes"])

    def _take_lexemes(
        self,
        row: Mapping[str, Any],
        before: tuple[MetadataLayer, NDArray[np.bool_]] | None,
        places: Numbers,
        counts: NDArray[Any],
    ) -> None:
        """Of the passages that were sent, at these places and with so many lexemes each, and of their records."""
        past, first = None, 0
        if before is not None:
            layer, stays = before
            records, first = _moved(stays), int(stays.sum())
            staying = layer.place[stays[layer.record]]
            moved = np.full(layer.places, GONE)
            moved[staying] = self.place[: len(staying)]  # those that stay come first
            past = (layer.lexemes, np.concatenate((moved, np.where(stays, self.places + records, GONE))))
        said = [distinct_lexemes(text) for text in row["record_lexemes"] or ()]
        of_records = self.places + np.repeat(first + np.arange(len(said)), [len(text.split()) for text in said])
        count = int(counts.sum())
        self.lexemes: Postings = Postings(
            " ".join((plain_lexemes(row["lexemes"] or "", count), *said)),
            np.concatenate((np.repeat(places, counts), of_records)),
            np.concatenate((numbers_of(row["frequencies"] or "", count), np.ones_like(of_records))),
            past,
        )
        self.lengths = np.bincount(self.record, self.lexemes.totals(self.places)[self.place], minlength=self.records)

    def _arrange(self) -> None:
        """Columns that follow from others."""
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

    def take_signs(self) -> None:
        """Take the signs of the vectors, by which a question that is asked again need not be compared with each."""
        if self.signs is None and self.passages:
            self.signs = Signs.of(_mixed(self.passage_vectors))

    def is_said_by(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Of each passage, whether its author, in lower case, is one of these."""
        return np.isin(self._author, [number for author, number in self._authors.items() if author in names])

    def shown(self, record: int) -> dict[str, Any]:
        """What a hit says of a record."""
        shown: dict[str, Any] = json.loads(self._records["shown"][record])
        shown["source"]["external_id"] = self._records["source_names"][record]
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
        arrays = (self.vectors, self.passage_vectors)
        return (
            sum(array.nbytes for array in arrays)
            + self.lexemes.size
            + sum(map(len, self._records["shown"]))
            + self.passages * _BYTES_OF_PASSAGE
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

    def past(self, node_id: str, model: str | None) -> MetadataLayer | None:
        """The layer of a node in whichever version it is kept, if what changed since can be added to it."""
        with self._lock:
            found = self._kept.get(node_id)
            return found[1] if found is not None and found[1].model == model and found[1].horizon is not None else None

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
    versions: Mapping[str, str | None],
    model: str | None,
    candidates: Callable[[], Mapping[str, Any]] = lambda: _ALL,
) -> dict[str, MetadataLayer]:
    """The layers of nodes, from memory where they are kept as they are now, the others in one trip to the database.

    Args:
        most: Bytes that may be kept; with 0 nothing is, and nothing is taken from what was.
        versions: Of each node the version that is in force; None where nothing may be kept.
        model: Whose vectors are in use.
        candidates: Gives the ``question`` and its ``embedding`` as ``neurigraph.layers`` takes them, for of a node with
            vector indexes only its candidates are read; called where anything is read.

    Returns:
        By node. One that vanished since its version was asked for is not among them; one whose user moved to another
        model since has vectors of that.
    """
    found: dict[str, MetadataLayer] = {}
    missing: dict[str, MetadataLayer | None] = {}
    for node_id, version in versions.items():
        layer = cache.get(node_id, version, model) if most and version is not None else None
        if layer is not None:
            found[node_id] = layer
        else:
            missing[node_id] = cache.past(node_id, model) if most and version is not None else None
    while missing:
        parameters = {
            **candidates(),
            "nodes": list(missing),
            "horizons": [past.horizon if past is not None else None for past in missing.values()],
        }
        before, missing = missing, {}
        for row in database.ask(claims, _QUERIES["layers"], parameters, binary=True):
            node_id, past = str(row["node_id"]), before[str(row["node_id"])]
            layer = MetadataLayer(row) if row["present"] is None or past is None else past.updated(row)
            if layer is None:
                missing[node_id] = None  # to be read as a whole
                continue
            found[node_id] = layer
            if most and row["version"] is not None:
                layer.take_signs()
                cache.put(node_id, row["version"], layer, most)
    return found


def _mixed(vectors: Floats) -> Floats:
    """``(passages, dimensions)``: of each passage the mean of its own vector and that of its window."""
    return (vectors[:, 0] + vectors[:, 1]) * np.float32(0.5)


def _moved(stays: NDArray[np.bool_]) -> Numbers:
    """Of each row, where it is once those that do not stay are gone, or ``GONE``."""
    return np.where(stays, np.cumsum(stays) - 1, GONE)


def _joined(before: Columns, stays: NDArray[np.bool_], added: Columns) -> Columns:
    """Columns one after another; the narrower vectors are filled up with zeros."""
    kept = np.flatnonzero(stays)
    joined: Columns = {}
    for name, column in added.items():
        past = before[name]
        if column.ndim == 1:
            joined[name] = np.concatenate((past[kept], column))
            continue
        width = max(past.shape[-1], column.shape[-1])
        vectors = np.zeros((len(kept) + len(column), *column.shape[1:-1], width), np.float32)
        # By far the largest part: copied once.
        np.take(past, kept, axis=0, out=vectors[: len(kept), ..., : past.shape[-1]], mode="clip")
        vectors[len(kept) :, ..., : column.shape[-1]] = column
        joined[name] = vectors
    return joined
