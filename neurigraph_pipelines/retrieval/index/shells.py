"""The shells of a graph in memory: name, place, edges, counts and centroid of every node that a caller may see.

``neurigraph.search_gate`` of the database decides what may be seen; ``query.select`` decides which nodes are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.navigation import path_view
from neurigraph_pipelines.retrieval.index.names import Names
from neurigraph_pipelines.retrieval.index.node_words import GraphWords
from neurigraph_pipelines.retrieval.index.packed_rows import decode_vectors, format_id
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes, estimates
from neurigraph_pipelines.text.lexemes import is_language
from neurigraph_pipelines.views.scalars import Row

_COUNTS = np.dtype([("records", ">i4"), ("passages", ">i4")])
_BYTES_OF_NODE = 5_000  # mostly its names, each with one letter left out in turn
_ESTIMATED, _COMPARED = 10, 4
"""In graphs with more than ten times as many nodes as are wanted, the cosine is estimated for all nodes, and computed
for four times as many as are wanted."""

_ID = "S16"
"""The type of ids: numpy orders it by bytes, the order in which the database sends the nodes."""


class Shells:
    """All nodes that a caller may see, numbered in the order of their ids.

    Args:
        row: A row of ``neurigraph.search_gate`` that has shells.
        before: Earlier shells of the same caller; their name index is reused if the names are the same.

    Attributes:
        data_version: The version of the data they come from; None if the caller may not know it, and then they are
            valid for one question.
        model: The embedding model whose vectors are in use.
        names: The names of all nodes but roots.
        speakers: The names of all speakers, in lower case.
        languages: The languages of passages in another one than the installation's, by their stemmers.
        may_count: Whether the caller may see figures that are counted over whole nodes.
        disagrees: Whether statements of the graph may disagree, as far as the caller sees them.
        records: The number of records of each node.
        passages: The number of passages of each node.
        parents: The number of each node's visible parent; its own number if it has none.
        words: The words of the nodes, once a question needs them.
    """

    def __init__(self, row: Row, before: Shells | None = None) -> None:
        self.data_version: str | None = row["data_version"]
        self.model: str | None = row["model"]
        self.speakers: list[str] = row["speakers"] or []
        self.languages: tuple[str, ...] = tuple(sorted(filter(is_language, row["languages"] or ())))
        self.may_count = row["centroids"] is not None
        self.disagrees: bool = row["disagrees"]
        counts = np.frombuffer(row["counts"] or b"", _COUNTS)
        self.records = counts["records"].astype(np.intp)
        self.passages = counts["passages"].astype(np.intp)
        self._packed_ids = bytes(row["node_ids"] or b"")
        self._ids = np.frombuffer(self._packed_ids, _ID)
        self.parents = self.numbers(np.frombuffer(row["parents"] or b"", _ID))
        self._names: list[str] = row["node_names"] or []
        names = [
            f"{name}\n{aliases}" if aliases is not None else None
            for name, aliases in zip(self._names, row["aliases"] or (), strict=True)
        ]
        past = before.names if before is not None else None
        self.names: Names = past if past is not None and past.has_names(names) else Names(names, past)
        ends = self.numbers(np.frombuffer(row["edges"] or b"", _ID)).reshape(-1, 2)
        ends = ends[(ends >= 0).all(axis=1)]
        both_ways = np.concatenate((ends, ends[:, ::-1]))
        self._neighbours: Numbers = both_ways[np.argsort(both_ways[:, 0], kind="stable"), 1]
        self._first_neighbour: Numbers = np.searchsorted(np.sort(both_ways[:, 0]), np.arange(len(self) + 1))
        self._versions: list[str | None] = row["versions"] or []
        self._locations: dict[int, tuple[str, str | None, str]] = {}
        self._stems: Sequence[str] | None = row["shell_stems"]
        self._centroids = decode_vectors(row["centroids"], ">f2", len(counts))
        self.words: GraphWords | None = None

    def __len__(self) -> int:
        return len(self.records)

    def number(self, node_id: UUID) -> int | None:
        """Return the number of a node; None if the caller sees no such node."""
        number = int(self.numbers(np.frombuffer(node_id.bytes, _ID))[0])
        return number if number >= 0 else None

    def numbers(self, node_ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """Return the numbers of nodes; -1 for ids that are not among them."""
        if not len(self):
            return np.full(len(node_ids), -1)
        numbers = np.minimum(np.searchsorted(self._ids, node_ids), len(self) - 1)
        return np.where(self._ids[numbers] == node_ids, numbers, -1)

    def location(self, number: int) -> tuple[str, str | None, str]:
        """Return a node's id, its version, and the names from the topmost visible node down to it.

        The version is that of its layer; None if the layer may not be cached.
        """
        if (found := self._locations.get(number)) is None:
            names, below = [], None
            above = number
            while above != below:
                names.append(self._names[above])
                below, above = above, int(self.parents[above])
            found = self._locations[number] = (
                format_id(self._packed_ids[number * 16 : number * 16 + 16]),
                self._versions[number],
                path_view(names[::-1]),
            )
        return found

    def name(self, number: int) -> str:
        """Return the name of a node."""
        return self._names[number]

    def below(self, number: int) -> NDArray[np.bool_]:
        """Return a mask of this node and all nodes below it."""
        reached: NDArray[np.bool_] = np.arange(len(self)) == number
        while not np.array_equal(wider := reached | reached[self.parents], reached):
            reached = wider
        return reached

    def neighbours(self, number: int) -> list[int]:
        """Return the nodes at the other ends of a node's edges."""
        found: list[int] = self._neighbours[self._first_neighbour[number] : self._first_neighbour[number + 1]].tolist()
        return found

    def around(self, numbers: Iterable[int], steps: int) -> set[int]:
        """Return nodes with all that lie within so many edges of one of them."""
        reached = set(numbers)
        last = reached
        for _ in range(steps):
            last = {other for number in last for other in self.neighbours(number)} - reached
            reached = reached | last
        return reached

    def cosines(self, vector: Floats, most: int) -> NDArray[Any]:
        """Return the cosine of a vector and each centroid that may be among the ``most`` nearest; NaN for others."""
        cosines = np.full(len(self), np.nan)
        near = np.arange(len(self._directions))
        if len(near) > _ESTIMATED * most:
            estimate = estimates([self._sign_hashes], vector)
            near = np.argpartition(-estimate, _COMPARED * most)[: _COMPARED * most]
        if len(near):
            length = float(np.linalg.norm(vector)) or np.nan
            cosines[near] = np.vecdot(self._directions[near], vector[: self._directions.shape[1]]) / length
        return cosines

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return 2 * self._centroids.nbytes + len(self) * _BYTES_OF_NODE

    @cached_property
    def filled(self) -> Numbers:
        """The numbers of the nodes that hold anything."""
        return np.flatnonzero((self.records > 0) | (self.passages > 0))

    @cached_property
    def median_passages(self) -> float:
        """The median number of passages of the nodes that have any; 0 if none has."""
        filled = self.passages[self.passages > 0]
        return float(np.median(filled)) if len(filled) else 0.0

    @cached_property
    def versions(self) -> dict[str, str | None]:
        """The versions of the layers that hold anything, by node id."""
        return {node_id: version for node_id, version, _ in map(self.location, self.filled.tolist())}

    @cached_property
    def stems(self) -> tuple[frozenset[str], ...] | None:
        """The stems of each node's name, keywords and summary; None in a graph of many nodes."""
        return tuple(frozenset(stems.split(" ")) for stems in self._stems) if self._stems is not None else None

    @cached_property
    def _directions(self) -> Floats:
        lengths = np.linalg.norm(self._centroids, axis=1, keepdims=True)
        directions: Floats = (self._centroids / np.where(lengths > 0, lengths, np.nan)).astype(np.float32)
        return directions

    @cached_property
    def _sign_hashes(self) -> SignHashes:
        return SignHashes.of(np.nan_to_num(self._directions))
