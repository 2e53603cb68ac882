"""Postings: an inverted index of lexemes in arrays. Scoring belongs to the ranking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]
Keys = NDArray[np.uint64]

GONE = -1
"""Stands for the row of something that was removed."""


def lexeme_keys(lexemes: Iterable[str]) -> Keys:
    """Return the keys under which postings find these lexemes: 64 bits of a digest, so that two never collide."""
    return np.fromiter(map(_key, lexemes), np.uint64)


@lru_cache(maxsize=1 << 14)
def _key(lexeme: str) -> int:
    return int.from_bytes(blake2b(lexeme.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


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
        self._counts: tuple[int, NDArray[np.intp]] | None = None

    @classmethod
    def of_lexemes(
        cls, lexemes: str, rows: Numbers, frequencies: Numbers, before: tuple[Postings, Numbers] | None = None
    ) -> Postings:
        """Return the postings of some occurrences.

        Args:
            lexemes: All occurrences, separated by spaces.
            rows: The row of each occurrence, from 0.
            frequencies: How often the lexeme occurs in that row.
            before: Postings to take over, with the new row of each of their rows, or ``GONE``.
        """
        words = lexemes.split()
        numbers: dict[str, int] = defaultdict(count().__next__)
        codes = np.fromiter(map(numbers.__getitem__, words), np.intp, len(words))
        keys = lexeme_keys(numbers)
        if before is not None:
            past, moved = before[0], before[1][before[0].occurrences[:, 0]]
            stays = moved != GONE
            past_codes = np.repeat(np.arange(len(past.keys)), np.diff(past.starts))
            codes = np.concatenate((past_codes[stays], codes + len(past.keys)))
            rows = np.concatenate((moved[stays], rows))
            frequencies = np.concatenate((past.occurrences[stays, 1], frequencies))
            keys = np.concatenate((past.keys, keys))
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

    def of(self, keys: Keys) -> list[tuple[int, NDArray[np.int32]]]:
        """Return, for each lexeme that occurs, its place in ``keys`` and ``(occurrences, 2)``: row and frequency."""
        if not len(self.keys):
            return []
        numbers = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = []
        for place in np.flatnonzero(self.keys[numbers] == keys).tolist():
            number = numbers.item(place)
            found.append((place, self.occurrences[self.starts.item(number) : self.starts.item(number + 1)]))
        return found

    def passages_with(self, keys: Keys, places: int) -> Iterator[tuple[int, int]]:
        """Yield, for each lexeme that occurs in the first ``places`` rows, its place in ``keys`` and in how many."""
        if self._counts is None or self._counts[0] != places:
            codes = np.repeat(np.arange(len(self.keys)), np.diff(self.starts))
            in_places = codes[self.occurrences[:, 0] < places]
            self._counts = places, np.bincount(in_places, minlength=len(self.keys))
        if len(self.keys):
            numbers = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            found = np.where(self.keys[numbers] == keys, self._counts[1][numbers], 0)
            for place in np.flatnonzero(found).tolist():
                yield place, found.item(place)

    def totals(self, rows: int) -> NDArray[Any]:
        """Return the sum of all frequencies in each of the first ``rows`` rows."""
        row, frequency = self.occurrences.T
        return np.bincount(row, frequency, minlength=rows)[:rows]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.occurrences.nbytes + self.keys.nbytes + self.starts.nbytes
