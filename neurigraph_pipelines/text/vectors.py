"""Conversion of a model's vectors to the widths of the columns that store them.

Does not choose a model and does not store anything.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, RECORD_DIMENSIONS

Kind = TypeVar("Kind", np.float16, np.float32)


def to_record_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pad a model's vector with zeros to ``RECORD_DIMENSIONS``, which changes no cosine.

    Raises:
        ValueError: A number is not finite.
    """
    return _padded(vector, RECORD_DIMENSIONS, np.float32)


def to_passage_vectors(vectors: NDArray[np.float32], prefix_trained: bool) -> NDArray[np.float16]:
    """Convert ``(n, d)`` vectors to ``(n, PASSAGE_DIMENSIONS)``: the normalised prefix, or padded with zeros.

    Args:
        vectors: The model's vectors.
        prefix_trained: Whether the model was trained for prefixes (Matryoshka). Wider vectors of other models are
            projected at random first, which loses more but roughly keeps their order.

    Raises:
        ValueError: A number is not finite.
    """
    width = vectors.shape[-1]
    if width <= PASSAGE_DIMENSIONS:
        return _padded(vectors, PASSAGE_DIMENSIONS, np.float16)
    if not prefix_trained:
        vectors = vectors @ _projection(width)
    cut = vectors[:, :PASSAGE_DIMENSIONS]
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    return _finite((cut / np.where(norms > 0, norms, 1)).astype(np.float16))


def _padded(vectors: NDArray[np.float32], width: int, dtype: type[Kind]) -> NDArray[Kind]:
    # np.pad takes ten times as long, and every query would wait for it.
    padded = np.zeros((*vectors.shape[:-1], width), dtype)
    padded[..., : vectors.shape[-1]] = vectors
    return _finite(padded)


def _finite(vectors: NDArray[Kind]) -> NDArray[Kind]:
    if not np.isfinite(vectors).all():
        raise ValueError("a model gave a vector with a number that is not finite")
    return vectors


def _projection(width: int) -> NDArray[np.float32]:
    """Return a fixed random projection; it keeps cosines within a few hundredths (Johnson and Lindenstrauss, 1984)."""
    generator = np.random.default_rng(PASSAGE_DIMENSIONS)
    matrix = generator.standard_normal((width, PASSAGE_DIMENSIONS), dtype=np.float32)
    return matrix / np.float32(np.sqrt(PASSAGE_DIMENSIONS))
