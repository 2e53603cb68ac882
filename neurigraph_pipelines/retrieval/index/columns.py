"""Columns: rows of a layer as one array for each attribute. Decoding them, and joining the rows of two reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index import wire_format
from neurigraph_pipelines.retrieval.index.postings import GONE, Numbers

Columns = dict[str, NDArray[Any]]


def record_columns(row: Mapping[str, Any]) -> Columns:
    """Return the columns of the records in a row of ``neurigraph.layers``."""
    sent = np.frombuffer(row["records"] or b"", wire_format.RECORD)
    return {
        "id": sent["id"],
        "occurred": sent["occurred"].astype(np.float64),
        "created": sent["created"].astype(np.float64),
        "source": sent["source"],
        "file": sent["file"],
        "importance": sent["importance"].astype(np.float64),
        "vectors": wire_format.decode_vectors(row["summary_vectors"], ">f4", len(sent)),
    }


def passage_columns(row: Mapping[str, Any], record_ids: NDArray[Any]) -> tuple[Columns, NDArray[Any]]:
    """Return the columns of the passages in a row of ``neurigraph.layers``, and the number of lexemes of each.

    Args:
        record_ids: The records of the layer.
    """
    sent = np.frombuffer(row["passages"] or b"", wire_format.PASSAGE)
    is_eligible = sent["is_eligible"].astype(bool)
    vectors = wire_format.decode_vectors(row["vectors"], ">f2", 2 * int(is_eligible.sum()))
    vectors = vectors.reshape(len(vectors) // 2, 2, vectors.shape[1])
    if len(vectors) < len(sent):
        of_eligible, vectors = vectors, np.zeros((len(sent), *vectors.shape[1:]), np.float32)
        vectors[is_eligible] = of_eligible
    columns: Columns = {
        "record": wire_format.find_rows(sent["record"], record_ids),
        "seq": sent["seq"].astype(np.intp),
        "first_message": sent["first_message"].astype(np.intp),
        "window_length": sent["window_length"].astype(np.float32),
        "role": sent["role"],
        "voice": sent["voice"],
        "statement": sent["statement"].astype(np.int64),
        "is_eligible": is_eligible,
        "vectors": vectors,
    }
    return columns, sent["lexemes"]


def new_rows(stays: NDArray[np.bool_]) -> Numbers:
    """Return the new row of each row once those that do not stay are removed, or ``GONE``."""
    return np.where(stays, np.cumsum(stays) - 1, GONE)


def joined(before: Columns, stays: NDArray[np.bool_], added: Columns) -> Columns:
    """Return the rows that stay followed by those that are added; narrower vectors are padded with zeros."""
    kept = np.flatnonzero(stays)
    rows: Columns = {}
    for name, column in added.items():
        past = before[name]
        if column.ndim == 1:
            rows[name] = np.concatenate((past[kept], column))
            continue
        width = max(past.shape[-1], column.shape[-1])
        vectors = np.zeros((len(kept) + len(column), *column.shape[1:-1], width), np.float32)
        # By far the largest part: copied once.
        np.take(past, kept, axis=0, out=vectors[: len(kept), ..., : past.shape[-1]], mode="clip")
        vectors[len(kept) :, ..., : column.shape[-1]] = column
        rows[name] = vectors
    return rows
