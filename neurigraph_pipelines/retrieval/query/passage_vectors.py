"""The vectors of passages that one question compares: from memory, or else read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np

from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.index.rows import Rows

ReadVectors = Callable[[Sequence[tuple[MetadataLayer, Numbers]]], Sequence[Floats]]
"""Reads the vectors of some passages of layers, ``(n, dimensions)`` each, in one call to the database."""

_UNREAD = -1


class VectorsGoneError(Exception):
    """Records changed after their layer was read: the question is asked again."""


class PassageVectors:
    """The vectors of the passages of some layers.

    Args:
        read: Reads those that are not in memory.
    """

    def __init__(self, rows: Rows, read: ReadVectors | None = None) -> None:
        self._rows = rows
        self._held = [layer.held.vectors for layer in rows.layers]
        self._read = read
        self._width = max((layer.width for layer in rows.layers), default=0)
        self._vectors: Floats = np.zeros((0, self._width), np.float32)

    @cached_property
    def _place(self) -> Numbers:
        """Where in ``_vectors`` those of each passage are."""
        return np.full(self._rows.passages, _UNREAD)

    def held(self, number: int) -> Floats | None:
        """Return all vectors of a layer if they are in memory."""
        return self._held[number]

    def are_held(self, numbers: Iterable[int]) -> bool:
        """Return whether all vectors of some layers are in memory."""
        return all(self._held[number] is not None for number in numbers)

    def of(self, passages: Numbers) -> Floats:
        """Return the ``(n, dimensions)`` vectors of passages.

        Raises:
            VectorsGoneError: They cannot be read any more.
        """
        unread = passages[self._place[passages] == _UNREAD]
        if len(unread):
            self._add(np.unique(unread))
        vectors: Floats = self._vectors[self._place[passages]]
        return vectors

    def _add(self, passages: Numbers) -> None:
        """Read vectors and keep them for this question."""
        first = len(self._vectors)
        added = np.zeros((len(passages), self._width), np.float32)
        ends = np.searchsorted(passages, [*self._rows.first_passage, self._rows.passages]).tolist()
        missing: list[tuple[MetadataLayer, Numbers]] = []
        places: list[slice] = []
        for number, (layer, begin, end) in enumerate(zip(self._rows.layers, ends, ends[1:], strict=False)):
            rows, held = passages[begin:end] - self._rows.first_passage[number], self._held[number]
            if held is not None:
                added[begin:end, : held.shape[1]] = held[rows]
            elif layer.width and begin < end:
                missing.append((layer, rows))
                places.append(slice(begin, end))
        if missing and self._read is None:
            raise VectorsGoneError
        for place, found in zip(places, self._read(missing) if missing and self._read else (), strict=True):
            added[place, : found.shape[1]] = found
        self._vectors = np.concatenate((self._vectors, added)) if first else added
        self._place[passages] = np.arange(first, first + len(passages))
