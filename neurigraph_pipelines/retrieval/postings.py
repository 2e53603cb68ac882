"""Where lexemes occur in what a process holds: an inverted index in arrays; what it counts is the ranking's."""

from __future__ import annotations

from itertools import compress

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.intp]

GONE = -1
"""In place of a row: it is no longer there."""

_BYTES_OF_LEXEME = 120


class Postings:
    """Where lexemes occur, and how often.

    Args:
        lexemes: One after another, with a space between any two.
        rows: Where each of them occurs.
        frequencies: How often each occurs there.
        before: Others to take over, and where each of their rows is now, or ``GONE``.
    """

    def __init__(
        self, lexemes: str, rows: Numbers, frequencies: Floats, before: tuple[Postings, Numbers] | None = None
    ) -> None:
        words = lexemes.split()
        numbers = dict(before[0]._numbers) if before is not None else {}
        for word in dict.fromkeys(words):
            numbers.setdefault(word, len(numbers))
        codes = np.fromiter(map(numbers.__getitem__, words), np.intp, len(words))
        if before is not None:
            past, moved = before[0], before[1][before[0]._rows]
            stays = moved != GONE
            past_codes = np.repeat(np.arange(len(past._numbers)), np.diff(past._starts))
            codes = np.concatenate((past_codes[stays], codes))
            rows = np.concatenate((moved[stays], rows))
            frequencies = np.concatenate((past._frequencies[stays], frequencies))
        counts = np.bincount(codes, minlength=len(numbers))
        if not counts.all():  # what is said nowhere any more is forgotten
            codes = (np.cumsum(counts > 0) - 1)[codes]
            numbers = {word: number for number, word in enumerate(compress(numbers, counts))}
            counts = counts[counts > 0]
        # Numbers of two bytes are sorted in a fraction of the time.
        order = np.argsort(codes.astype(np.uint16) if len(counts) <= 1 << 16 else codes, kind="stable")
        self._numbers: dict[str, int] = numbers
        self._starts: Numbers = np.concatenate(([0], np.cumsum(counts)))
        self._rows: Numbers = rows[order]
        self._frequencies: Floats = frequencies[order]

    def of(self, lexeme: str) -> tuple[Numbers, Floats] | None:
        """The rows that have a lexeme, and how often each; None where none has."""
        number = self._numbers.get(lexeme)
        if number is None:
            return None
        begin, end = self._starts[number], self._starts[number + 1]
        return self._rows[begin:end], self._frequencies[begin:end]

    @property
    def size(self) -> int:
        """Bytes, about."""
        return self._rows.nbytes + self._frequencies.nbytes + len(self._numbers) * _BYTES_OF_LEXEME
