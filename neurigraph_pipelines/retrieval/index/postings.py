"""Postings: an inverted index of lexemes in arrays. Scoring belongs to the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]
Keys = NDArray[np.uint64]

GONE = -1
"""Stands for the row of something that was removed."""

_NONE = np.zeros((0, 2), np.int32)


class Occurrences(NamedTuple):
    """Where lexemes occur, in arrays of the same length.

    Attributes:
        lexeme: The place of the lexeme among those that were looked up.
        row: A row that holds it; of ``Rows`` the place of a passage, or the number of places and the row of a record.
        frequency: How often it occurs there.
    """

    lexeme: NDArray[np.intp]
    row: NDArray[np.int32]
    frequency: NDArray[np.int32]


class Postings:
    """The rows in which each lexeme occurs, and how often.

    Attributes:
        keys: The key of each lexeme, in ascending order.
        starts: Where the occurrences of each lexeme begin, and where the last one's end.
        occurrences: The row and the frequency of each occurrence, ``(occurrences, 2)``, lexeme after lexeme.
    """

    def __init__(self, keys: Keys, starts: NDArray[np.int32], occurrences: NDArray[np.int32]) -> None:
        self.keys = keys
        self.starts = starts
        self.occurrences = occurrences

    @classmethod
    def of(
        cls, keys: Keys, rows: Numbers, frequencies: NDArray[Any], before: tuple[Postings, Numbers] | None = None
    ) -> Postings:
        """Return the postings of some occurrences.

        Args:
            keys: The key of the lexeme of each occurrence.
            rows: The row of each occurrence, from 0.
            frequencies: How often the lexeme occurs in that row.
            before: Postings to take over, with the new row of each of their rows, or ``GONE``.
        """
        codes = np.arange(len(keys))
        if before is not None:
            past, moved = before[0], before[1][before[0].occurrences[:, 0]]
            stays = moved != GONE
            past_codes = np.repeat(np.arange(len(past.keys)), np.diff(past.starts))
            codes = np.concatenate((past_codes[stays], codes + len(past.keys)))
            rows = np.concatenate((moved[stays], rows))
            frequencies = np.concatenate((past.occurrences[stays, 1], frequencies))
            keys = np.concatenate((past.keys, keys))
        return cls._sorted(keys, codes, rows, frequencies)

    @classmethod
    def joined(cls, postings: Sequence[Postings], rows: NDArray[np.int32]) -> Postings:
        """Return the occurrences of several postings as one.

        Args:
            rows: The new rows of the occurrences of all, one after another.
        """
        keys = np.concatenate([one.keys for one in postings])
        counts = np.concatenate([np.diff(one.starts) for one in postings])
        frequencies = np.concatenate([one.occurrences[:, 1] for one in postings])
        return cls._sorted(keys, np.repeat(np.arange(len(keys)), counts), rows, frequencies)

    @classmethod
    def _sorted(cls, keys: Keys, codes: Numbers, rows: NDArray[Any], frequencies: NDArray[Any]) -> Postings:
        """Return the postings of some occurrences.

        Args:
            keys: Lexemes, some perhaps twice or not at all in use.
            codes: The place of each occurrence's lexeme in ``keys``.
        """
        keys, places = np.unique(keys, return_inverse=True)
        codes = places[codes]
        counts = np.bincount(codes, minlength=len(keys))
        if not counts.all():  # drop lexemes that no longer occur
            codes = (np.cumsum(counts > 0) - 1)[codes]
            keys, counts = keys[counts > 0], counts[counts > 0]
        # Sorting numbers of two bytes takes a fraction of the time.
        order = np.argsort(codes.astype(np.uint16) if len(counts) <= 1 << 16 else codes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return cls(keys, starts, np.stack((rows, frequencies), axis=1).astype(np.int32)[order])

    def found(self, keys: Keys) -> list[tuple[int, NDArray[np.int32]]]:
        """Return, for each lexeme that occurs, its place in ``keys`` and ``(occurrences, 2)``: row and frequency."""
        if not len(self.keys):
            return []
        numbers = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        begins, ends = self.starts[numbers].tolist(), self.starts[numbers + 1].tolist()
        return [
            (place, self.occurrences[begins[place] : ends[place]])
            for place in (self.keys[numbers] == keys).nonzero()[0].tolist()
        ]

    def words(self, rows: int) -> tuple[Keys, NDArray[np.int32]]:
        """Return the lexemes that occur in the first ``rows`` rows, and in how many of these each does."""
        ends = np.concatenate(([0], np.cumsum(self.occurrences[:, 0] < rows)))[self.starts]
        counts = np.diff(ends).astype(np.int32)
        return self.keys[counts > 0], counts[counts > 0]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.occurrences.nbytes + self.keys.nbytes + self.starts.nbytes


def together(found: Sequence[tuple[int, NDArray[np.int32]]]) -> Occurrences:
    """Join the occurrences of all lexemes, each given by its place among the lexemes that were looked up."""
    lexeme = np.repeat([place for place, _ in found], [len(one) for _, one in found]).astype(np.intp)
    row, frequency = np.concatenate([_NONE, *(one for _, one in found)]).T
    return Occurrences(lexeme, row, frequency)
