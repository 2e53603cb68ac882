"""Decoders for columns that the database packs for many rows: one text, or one string of bytes.

The columns are listed in ``layers`` and ``shells``, their order in ``sql/functions``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.text.lexemes import plain, without_marks

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
PASSAGE = np.dtype(
    [
        ("record", "V16"),
        ("seq", ">i4"),
        ("first_message", ">i4"),
        ("window_length", ">f4"),
        ("unused", ">i2"),
        ("voice", "i1"),
        ("role", "i1"),
        ("statement", ">i8"),
        ("lexemes", ">i4"),
        ("is_eligible", ">i4"),
    ]
)
"""Rows of ``neurigraph.layers``: records, and passages."""


def decode_vectors(packed: bytes | None, kind: str, count: int) -> Floats:
    """Return ``(count, dimensions)`` vectors without their common trailing zeros.

    Args:
        packed: ``count`` vectors, each with a header of four bytes.
        kind: The numpy type of their numbers, in network byte order.
        count: How many there are.
    """
    width = (len(packed) // count - 4) // np.dtype(kind).itemsize if packed else 0
    numbers = np.frombuffer(packed or b"", np.dtype([("head", "V4"), ("vector", kind, width)]))["vector"]
    if not numbers[:, -1:].any():
        used = np.flatnonzero(numbers.view(kind.replace("f", "u")).any(axis=0))
        numbers = numbers[:, : used[-1] + 1 if len(used) else 0]
    return numbers.astype(np.float32)


def decode_distinct_lexemes(lexemes: str) -> str:
    """Return the distinct lexemes of one record without accents, the form that questions use."""
    return lexemes if lexemes.isascii() else " ".join(dict.fromkeys(without_marks(lexemes).split()))


def decode_lexemes(lexemes: str, count: int) -> str:
    """Return ``count`` lexemes without accents; a lexeme that consists only of accents stays unchanged."""
    if lexemes.isascii():
        return lexemes
    unmarked = without_marks(lexemes)
    return unmarked if len(unmarked.split()) == count else " ".join(map(plain, lexemes.split()))


def decode_numbers(text: str, count: int) -> Numbers:
    """Return ``count`` numbers that are packed as text, separated by spaces."""
    if len(text) == 2 * count - 1:  # of one digit each
        return (np.frombuffer(text.encode(), np.uint8)[::2] - ord("0")).astype(np.intp)
    return np.fromstring(text, np.intp, sep=" ")


def format_ids(ids: NDArray[Any]) -> list[str]:
    """Return ids of 16 bytes in the text form of a UUID."""
    packed = ids.tobytes()
    return [format_id(packed[at : at + 16]) for at in range(0, len(packed), 16)]


def format_id(packed: bytes) -> str:
    """Return an id of 16 bytes in the text form of a UUID, faster than by way of ``UUID``."""
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def find_rows(ids: NDArray[Any], known: NDArray[Any]) -> Numbers:
    """Return the row of each id among the known ones; each run of equal ids is looked up once."""
    if not len(ids):
        return np.zeros(0, np.intp)
    rows = {one.tobytes(): row for row, one in enumerate(known)}
    halves = ids.copy().view(np.uint64).reshape(-1, 2)
    begins = np.concatenate(([0], np.flatnonzero((halves[1:] != halves[:-1]).any(axis=1)) + 1))
    return np.repeat([rows[ids[begin].tobytes()] for begin in begins], np.diff(begins, append=len(ids)))


def lower(name: str) -> str:
    """Return a name in lower case as Postgres makes it: character by character."""
    return "".join(map(str.lower, name))
