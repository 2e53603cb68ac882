"""The shapes of vectors: a model's vector fitted to the columns that store and compare it.

Which model gives a vector, and where it is stored, is decided elsewhere.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, RECORD_DIMENSIONS

Kind = TypeVar("Kind", np.float16, np.float32)


def to_record_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """A model's vector in the width of a record's column; zeros at the end leave every cosine as it was."""
    return _widened(vector, RECORD_DIMENSIONS, np.float32)


def to_passage_vectors(vectors: NDArray[np.float32], prefix_trained: bool) -> NDArray[np.float16]:
    """``(n, d)`` vectors as ``(n, PASSAGE_DIMENSIONS)``: the normalised prefix, or padded with zeros.

    A model that was not trained for prefixes and is wider than the column loses more, but keeps its order roughly;
    ``prefix_trained`` says which case it is.
    """
    width = vectors.shape[-1]
    if width <= PASSAGE_DIMENSIONS:
        return _widened(vectors, PASSAGE_DIMENSIONS, np.float16)
    if not prefix_trained:
        vectors = vectors @ _projection(width)
    cut = vectors[:, :PASSAGE_DIMENSIONS]
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    return (cut / np.where(norms > 0, norms, 1)).astype(np.float16)


def _widened(vectors: NDArray[np.float32], width: int, kind: type[Kind]) -> NDArray[Kind]:
    # np.pad takes ten times as long, which every question would wait for.
    widened = np.zeros((*vectors.shape[:-1], width), kind)
    widened[..., : vectors.shape[-1]] = vectors
    return widened


def _projection(width: int) -> NDArray[np.float32]:
    """A fixed random projection: keeps cosines within a few hundredths (Johnson and Lindenstrauss, 1984)."""
    generator = np.random.default_rng(PASSAGE_DIMENSIONS)
    drawn = generator.standard_normal((width, PASSAGE_DIMENSIONS), dtype=np.float32)
    return drawn / np.float32(np.sqrt(PASSAGE_DIMENSIONS))
