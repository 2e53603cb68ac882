"""Signs of vectors: one bit for each number, from which likeness is estimated without reading the vectors.

Two directions from the middle of all differ in signs in proportion to their angle (Charikar, 2002). Of 25,000 messages
the 200 with the most signs in common held the ten nearest for each of 400 questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers

_BITS = 64


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of vectors.

    Attributes:
        middle: From which they are taken, ``(dimensions,)``: the mean of the vectors that were there first.
        spread: How far vectors lie from it, on average.
        words: ``(words, vectors)``, each of 64 bits.
    """

    middle: Floats
    spread: float
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, vectors: Floats) -> Self:
        """Those of ``(n, dimensions)`` vectors."""
        middle = vectors.mean(axis=0)
        spread = np.sqrt(max(np.vecdot(vectors, vectors).mean() - middle @ middle, 0))
        return cls(middle, float(spread), _words(vectors > middle))

    def joined(self, stays: NDArray[np.bool_], vectors: Floats) -> Self | None:
        """The signs of those that stay, and of further vectors; None where these are wider than the middle is."""
        missing = self.dimensions - vectors.shape[-1]
        if missing < 0:
            return None
        added = _words(np.pad(vectors, [(0, 0), (0, missing)]) > self.middle)
        return replace(self, words=np.concatenate([self.words[:, stays], added], axis=1))

    def reordered(self, order: Numbers) -> Self:
        """The same in another order."""
        return replace(self, words=self.words[:, order])

    @property
    def dimensions(self) -> int:
        """Of the vectors."""
        return len(self.middle)

    def __len__(self) -> int:
        return int(self.words.shape[1])


def estimates(signs: Sequence[Signs], vector: Floats) -> NDArray[Any]:
    """What the inner products of all these vectors with another one are, about.

    Args:
        signs: One or more, of vectors of as many dimensions.
    """
    middles = np.array([one.middle for one in signs])
    dimensions = middles.shape[1]
    away = vector[:dimensions] - middles
    asked = _words(away > 0)
    counts = [len(one) for one in signs]
    ends = np.cumsum(counts).tolist()
    differ = np.empty((len(asked), ends[-1]), np.uint64)
    for number, (one, end) in enumerate(zip(signs, ends, strict=True)):
        np.bitwise_xor(one.words, asked[:, number, None], out=differ[:, end - len(one) : end])
    common = np.bitwise_count(differ).sum(axis=0, dtype=np.intp)
    lengths = np.sqrt(np.vecdot(away, away)) * np.array([one.spread for one in signs])
    # Of each of those few: what two vectors of it are that differ in so many signs.
    likeness = lengths[:, None] * _cosines(dimensions) + (middles @ vector[:dimensions])[:, None]
    estimated: NDArray[Any] = likeness.ravel()[common + np.repeat(np.arange(len(signs)) * (dimensions + 1), counts)]
    return estimated


@cache
def _cosines(dimensions: int) -> Floats:
    """Of two directions that differ in none of their signs, in one, and so on."""
    return np.cos(np.linspace(0, np.pi, dimensions + 1, dtype=np.float32))


def _words(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
    bits = np.packbits(signs, axis=1)
    if missing := -bits.shape[1] % (_BITS // 8):
        bits = np.pad(bits, [(0, 0), (0, missing)])
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)
