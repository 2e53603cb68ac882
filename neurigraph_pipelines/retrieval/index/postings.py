"""Postings: an inverted index of lexemes in arrays. Scoring belongs to the ranking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]

GONE = -1
"""Stands for the row of something that was removed."""

_BYTES_OF_LEXEME = 120


class Postings:
    """The rows in which each lexeme occurs, and how often.

    Args:
        lexemes: All occurrences, separated by spaces.
        rows: The row of each occurrence, from 0.
        frequencies: How often the lexeme occurs in that row.
        before: Postings to take over, with the new row of each of their rows, or ``GONE``.
    """

    def __init__(
        self, lexemes: str, rows: Numbers, frequencies: Numbers, before: tuple[Postings, Numbers] | None = None
    ) -> None:
        words = lexemes.split()
        known = before[0]._numbers if before is not None else {}
        numbers: dict[str, int] = defaultdict(count(len(known)).__next__, known)
        codes = np.fromiter(map(numbers.__getitem__, words), np.intp, len(words))
        if before is not None:
            past, moved = before[0], before[1][before[0]._occurrences[:, 0]]
            stays = moved != GONE
            past_codes = np.repeat(np.arange(len(past._numbers)), np.diff(past._starts))
            codes = np.concatenate((past_codes[stays], codes))
            rows = np.concatenate((moved[stays], rows))
            frequencies = np.concatenate((past._occurrences[stays, 1], frequencies))
        counts = np.bincount(codes, minlength=len(numbers))
        if not counts.all():  # drop lexemes that no longer occur
            codes = (np.cumsum(counts > 0) - 1)[codes]
            numbers = {word: number for number, word in enumerate(compress(numbers, counts))}
            counts = counts[counts > 0]
        # Sorting numbers of two bytes takes a fraction of the time.
        order = np.argsort(codes.astype(np.uint16) if len(counts) <= 1 << 16 else codes, kind="stable")
        self._numbers: dict[str, int] = dict(numbers)
        self._starts: Numbers = np.concatenate(([0], np.cumsum(counts)))
        self._occurrences: NDArray[np.int32] = np.stack((rows, frequencies), axis=1).astype(np.int32)[order]
        self._counts: tuple[int, list[int]] | None = None

    def of(self, lexemes: Iterable[str]) -> list[tuple[int, NDArray[np.int32]]]:
        """Return, for each lexeme that occurs, its place in ``lexemes`` and ``(occurrences, 2)``: row and frequency."""
        found = []
        for place, lexeme in enumerate(lexemes):
            number = self._numbers.get(lexeme)
            if number is not None:
                begin, end = self._starts.item(number), self._starts.item(number + 1)
                found.append((place, self._occurrences[begin:end]))
        return found

    def passages_with(self, lexemes: Iterable[str], places: int) -> Iterator[tuple[int, int]]:
        """Yield, for each lexeme that occurs in the first ``places`` rows, its place in ``lexemes`` and in how many."""
        if self._counts is None or self._counts[0] != places:
            row, codes = self._occurrences[:, 0], np.repeat(np.arange(len(self._numbers)), np.diff(self._starts))
            self._counts = places, np.bincount(codes[row < places], minlength=len(self._numbers)).tolist()
        counts = self._counts[1]
        for place, lexeme in enumerate(lexemes):
            number = self._numbers.get(lexeme)
            if number is not None and counts[number]:
                yield place, counts[number]

    def totals(self, rows: int) -> NDArray[Any]:
        """Return the sum of all frequencies in each of the first ``rows`` rows."""
        row, frequency = self._occurrences.T
        return np.bincount(row, frequency, minlength=rows)[:rows]

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return self._occurrences.nbytes + len(self._numbers) * _BYTES_OF_LEXEME
