"""Directions that vectors gather around: k-means on the unit sphere, with a fixed start.

Knows vectors only. The same vectors in the same order give the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

MOST_CENTROIDS = 4

_MOST_ROUNDS = 25
_SAME = 0.999  # vectors nearer to each other than this start no second centroid

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Vectors that gather around a direction.

    Attributes:
        centroid: ``(d,)`` float32 of unit length.
        members: Numbers of the vectors, the nearest to the centroid first.
    """

    centroid: Floats
    members: tuple[int, ...]


def clusters(vectors: Floats) -> list[Cluster]:
    """Return up to ``MOST_CENTROIDS`` clusters, the largest first.

    Their number grows as the square root of half the number of vectors (Mardia, 1979), so that a few are not taken
    apart.

    Args:
        vectors: ``(n, d)`` float32, rows of unit length.
    """
    if not len(vectors):
        return []
    centres = _first_centres(vectors, min(MOST_CENTROIDS, max(1, isqrt(len(vectors) // 2))))
    labels = np.argmax(vectors @ centres.T, axis=1)
    for _ in range(_MOST_ROUNDS):
        centres = np.array([direction(vectors[labels == label]) for label in np.unique(labels)])
        nearest = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    found = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        centre = direction(vectors[members])
        near_first = members[np.argsort(-(vectors[members] @ centre), kind="stable")]
        found.append(Cluster(centre, tuple(near_first.tolist())))
    return sorted(found, key=lambda cluster: (-len(cluster.members), min(cluster.members)))


def direction(vectors: Floats) -> Floats:
    """Return the mean of vectors, scaled to unit length."""
    mean: Floats = vectors.mean(axis=0)
    return scaled(mean)


def scaled(vectors: Floats) -> Floats:
    """Return vectors scaled to unit length; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _first_centres(vectors: Floats, count: int) -> Floats:
    """Return distinct vectors to start from: the nearest to the mean, then each time the farthest from all chosen."""
    first = int(np.argmax(vectors @ direction(vectors)))
    chosen, similarity = [first], vectors @ vectors[first]
    while len(chosen) < count:
        farthest = int(np.argmin(similarity))
        if similarity[farthest] > _SAME:
            break
        chosen.append(farthest)
        similarity = np.maximum(similarity, vectors @ vectors[farthest])
    return vectors[chosen]
