"""Records as a layer is made of them: one array for each attribute, with their texts and search segments.

A row of ``neurigraph.layers`` becomes such records, and so do messages that are not stored yet.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.packed_rows import decode_vectors
from neurigraph_pipelines.retrieval.index.postings import GONE, Floats, Numbers
from neurigraph_pipelines.retrieval.index.texts import RecordTexts, texts_of
from neurigraph_pipelines.text.search_segments import DamagedSegmentError, SearchSegment, read_vectors
from neurigraph_pipelines.views.scalars import Row

Columns = dict[str, NDArray[Any]]

Spans = list[tuple[float | None, float | None]]
"""Stretches of time in seconds since 1970; None is no bound."""

RECORD = np.dtype(
    [
        ("id", "V16"),
        ("occurred", ">f8"),
        ("created", ">f8"),
        ("source", "V16"),
        ("file", "V16"),
        ("importance", ">f4"),
    ]
)
"""Rows of records in ``neurigraph.layers``."""

EMPTY = SearchSegment.of(())
"""The search segment of a record without passages."""

_log = logging.getLogger(__name__)


class Records(NamedTuple):
    """Records from which a layer is made, or which are added to one.

    Attributes:
        columns: The fields of ``RECORD`` by name, and ``vectors``: ``(records, dimensions)``, zeros for a record
            without a vector of the model.
        superseded: The stretches of time in which each superseded record was superseded, by its row.
        lexemes: The lexemes of each record's title, summary and keywords, separated by spaces.
        segments: The search segment of each record.
        vectors: The vectors of each segment's passages, ``(passages, dimensions)``; None if it has none.
    """

    columns: Columns
    texts: Sequence[RecordTexts]
    superseded: dict[int, Spans]
    lexemes: Sequence[str]
    segments: Sequence[SearchSegment]
    vectors: Sequence[Floats | None]


def records_of(row: Row) -> Records:
    """Return the records in a row of ``neurigraph.layers``."""
    sent = np.frombuffer(row["records"] or b"", RECORD)
    read = [_segment_of(*one) for one in zip(row["segments"] or (), row["vectors"] or (), strict=True)]
    return Records(
        columns_of(sent, decode_vectors(row["summary_vectors"], ">f4", len(sent))),
        texts_of(row),
        {number: json.loads(spans) for number, spans in enumerate(row["superseded"] or ()) if spans},
        row["record_lexemes"] or (),
        [segment for segment, _ in read],
        [vectors for _, vectors in read],
    )


def columns_of(rows: NDArray[Any], vectors: Floats) -> Columns:
    """Return rows of ``RECORD`` as columns, with the vectors of the records."""
    columns: Columns = {name: rows[name] for name in ("id", "source", "file")}
    columns |= {name: rows[name].astype(np.float64) for name in ("occurred", "created", "importance")}
    return columns | {"vectors": vectors}


def _segment_of(content: bytes, packed: bytes) -> tuple[SearchSegment, Floats | None]:
    """Return a segment with its vectors; an empty one if it is damaged, which ``verify`` reports."""
    if not content:
        return EMPTY, None
    try:
        segment = SearchSegment.read(content)
        return segment, read_vectors(packed, len(segment.rows)) if packed else None
    except DamagedSegmentError as error:
        _log.warning("a search segment was left out (%s): run neurigraph admin verify", error)
        return EMPTY, None


def vectors_of(segments: Sequence[SearchSegment], vectors: Sequence[Floats | None]) -> Floats:
    """Return the vectors of the passages of all segments, ``(passages, dimensions)``, padded with zeros."""
    width = max((one.shape[1] for one in vectors if one is not None), default=0)
    together = np.zeros((sum(len(one.rows) for one in segments), width), np.float32)
    first = 0
    for segment, one in zip(segments, vectors, strict=True):
        if one is not None:
            together[first : first + len(one), : one.shape[1]] = one
        first += len(segment.rows)
    return together


def passage_columns(segments: Sequence[SearchSegment], numbers: Mapping[str | None, int]) -> Columns:
    """Return the columns of the passages of some segments.

    Args:
        numbers: Numbers authors; a new one gets a new number.
    """
    rows = [segment.rows for segment in segments]
    authors = [
        np.array([numbers[name] for name in segment.names], np.int32)[segment.rows["author"]] for segment in segments
    ]
    return {
        "record": np.repeat(np.arange(len(rows)), list(map(len, rows))),
        "seq": joint([one["seq"] for one in rows], np.intp),
        "first_message": joint([one["message"] for one in rows], np.intp),
        "window_length": joint([one["window_length"] for one in rows], np.float32),
        "role": joint([one["role"] for one in rows], np.int8),
        "voice": joint([one["voice"] for one in rows], np.int8),
        "statement": joint([one["statement"] for one in rows], np.int64),
        "author": joint(authors, np.int32),
    }


def joint(arrays: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    """Return arrays one after another; an empty one of the type if there are none."""
    return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind, copy=False)


def new_rows(stays: NDArray[np.bool_]) -> Numbers:
    """Return the new row of each row once those that do not stay are removed, or ``GONE``."""
    return np.where(stays, np.cumsum(stays) - 1, GONE)


def joined(before: Columns, stays: NDArray[np.bool_], added: Columns) -> Columns:
    """Return the rows that stay followed by those that are added; narrower vectors are padded with zeros."""
    return {name: joined_column(before[name], stays, column) for name, column in added.items()}


def joined_column(past: NDArray[Any], stays: NDArray[np.bool_], added: NDArray[Any]) -> NDArray[Any]:
    """Return ``joined`` of one column."""
    kept = np.flatnonzero(stays)
    if added.ndim == 1:
        return np.concatenate((past[kept], added))
    width = max(past.shape[-1], added.shape[-1])
    vectors = np.zeros((len(kept) + len(added), width), np.float32)
    # By far the largest part: copied once.
    np.take(past, kept, axis=0, out=vectors[: len(kept), : past.shape[-1]], mode="clip")
    vectors[len(kept) :, : added.shape[-1]] = added
    return vectors
