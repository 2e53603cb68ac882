"""Columns as the database sends them for many rows at once: in one text, or one string of bytes.

What the columns are is the affair of ``layers`` and ``shells``; in which order they come is stated in ``sql/routines``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.text.lexemes import plain, without_marks


def sent_vectors(sent: bytes | None, kind: str, count: int) -> Floats:
    """``(count, dimensions)`` of vectors as they are sent, each after four bytes of head; without zeros at the end."""
    width = (len(sent) // count - 4) // np.dtype(kind).itemsize if sent else 0
    numbers = np.frombuffer(sent or b"", np.dtype([("head", "V4"), ("vector", kind, width)]))["vector"]
    if not numbers[:, -1:].any():
        used = np.flatnonzero(numbers.view(kind.replace("f", "u")).any(axis=0))
        numbers = numbers[:, : used[-1] + 1 if len(used) else 0]
    return numbers.astype(np.float32)


def distinct_lexemes(lexemes: str) -> str:
    """The lexemes of one record without accents, as questions are asked."""
    return lexemes if lexemes.isascii() else " ".join(dict.fromkeys(without_marks(lexemes).split()))


def plain_lexemes(lexemes: str, count: int) -> str:
    """``count`` lexemes without accents; one that consists of nothing else stays as it is."""
    if lexemes.isascii():
        return lexemes
    unmarked = without_marks(lexemes)
    return unmarked if len(unmarked.split()) == count else " ".join(map(plain, lexemes.split()))


def numbers_of(text: str, count: int) -> Numbers:
    """Numbers that are sent as text, with a space between any two."""
    if len(text) == 2 * count - 1:  # of one digit each
        return (np.frombuffer(text.encode(), np.uint8)[::2] - ord("0")).astype(np.intp)
    return np.fromstring(text, np.intp, sep=" ")


def written_ids(ids: NDArray[Any]) -> list[str]:
    """Ids as they are written."""
    text = ids.tobytes().hex()
    return [
        f"{text[at : at + 8]}-{text[at + 8 : at + 12]}-{text[at + 12 : at + 16]}-{text[at + 16 : at + 20]}-"
        f"{text[at + 20 : at + 32]}"
        for at in range(0, len(text), 32)
    ]


def rows_of(ids: NDArray[Any], known: NDArray[Any]) -> Numbers:
    """Where ids stand among those that are known; looked up once for all that follow each other."""
    if not len(ids):
        return np.zeros(0, np.intp)
    rows = {one.tobytes(): row for row, one in enumerate(known)}
    halves = ids.copy().view(np.uint64).reshape(-1, 2)
    begins = np.concatenate(([0], np.flatnonzero((halves[1:] != halves[:-1]).any(axis=1)) + 1))
    return np.repeat([rows[ids[begin].tobytes()] for begin in begins], np.diff(begins, append=len(ids)))
