"""Columns: rows of a layer as one array for each attribute. Joining the rows of two reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import GONE, Numbers

Columns = dict[str, NDArray[Any]]


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
