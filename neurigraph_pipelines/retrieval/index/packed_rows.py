"""Decoders for columns that the database packs for many rows: one text, or one string of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.text.lexemes import without_marks


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


def decode_distinct_lexemes(lexemes: str) -> list[str]:
    """Return the distinct lexemes of one record without accents, the form that questions use."""
    return lexemes.split() if lexemes.isascii() else list(dict.fromkeys(without_marks(lexemes).split()))


def format_ids(ids: NDArray[Any]) -> list[str]:
    """Return ids of 16 bytes in the text form of a UUID."""
    packed = ids.tobytes()
    return [format_id(packed[at : at + 16]) for at in range(0, len(packed), 16)]


def format_id(packed: bytes) -> str:
    """Return an id of 16 bytes in the text form of a UUID, faster than by way of ``UUID``."""
    text = packed.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
