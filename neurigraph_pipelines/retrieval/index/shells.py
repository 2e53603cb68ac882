"""The shells of a graph in memory: what is known of every node that somebody may see, searched or not.

What may be seen is decided by ``neurigraph.evidence`` of the database; which nodes are searched, by ``anchors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.retrieval.index.names import Names
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.index.sign_hash import Signs, estimates
from neurigraph_pipelines.retrieval.index.wire_format import sent_vectors

_COUNTS = np.dtype([("records", ">i4"), ("passages", ">i4"), ("is_indexed", ">i4")])
_BYTES_OF_NODE = 5_000  # most of them its names, with each letter left out
_ESTIMATED, _COMPARED = 10, 4
"""Of ten times as many nodes as are asked for, four times as many are compared, by an estimate for all."""

_ID = "S16"
"""Of an id as the database sends it. Of all numpy orders such by their bytes, in which order the nodes stand."""


class Shells:
    """All nodes of which somebody is told, numbered in the order of their ids.

    Args:
        row: A row of ``neurigraph.evidence`` with which they came.
        before: Shells of the same asker, of which is taken over what follows from what has not changed.

    Attributes:
        data_version: Of what they were read from; None where nobody may learn it, and they hold for one question.
        model: Whose vectors are in use.
        corpus_passages: How much whoever asks may search.
        corpus_lexemes: The same in words.
        names: Of all nodes but roots.
        speakers: Who speaks in the memories, in lower case.
        records: Of each node, how many records it has.
        passages: Of each node.
        parents: Of each node the one above it that is told of; of others itself.
        is_indexed: Of each node, whether its vectors have an index that may be used.
    """

    def __init__(self, row: Mapping[str, Any], before: Shells | None = None) -> None:
        self.data_version: str | None = row["data_version"]
        self.model: str | None = row["model"]
        self.corpus_passages: int = row["corpus_passages"]
        self.corpus_lexemes: int = row["corpus_lexemes"]
        self.speakers: list[str] = row["speakers"] or []
        counts = np.frombuffer(row["counts"] or b"", _COUNTS)
        self.records = counts["records"].astype(np.intp)
        self.passages = counts["passages"].astype(np.intp)
        self.is_indexed = counts["is_indexed"].astype(bool)
        self._sent_ids = bytes(row["node_ids"] or b"")
        self._ids = np.frombuffer(self._sent_ids, _ID)
        self.parents = self.numbers(np.frombuffer(row["parents"] or b"", _ID))
        self._names: list[str] = row["node_names"] or []
        called = [
            f"{name}\n{aliases}" if aliases is not None else None
            for name, aliases in zip(self._names, row["aliases"] or (), strict=True)
        ]
        past = before.names if before is not None else None
        self.names: Names = past if past is not None and past.are_called(called) else Names(called, past)
        ends = self.numbers(np.frombuffer(row["edges"] or b"", _ID)).reshape(-1, 2)
        ends = ends[(ends >= 0).all(axis=1)]
        beside = np.concatenate((ends, ends[:, ::-1]))
        self._beside: Numbers = beside[np.argsort(beside[:, 0], kind="stable"), 1]
        self._first_beside: Numbers = np.searchsorted(np.sort(beside[:, 0]), np.arange(len(self) + 1))
        self._versions: list[str | None] = row["versions"] or []
        self._shown: dict[int, tuple[str, str]] = {}
        self._centroids = sent_vectors(row["centroids"], ">f2", len(counts))

    def __len__(self) -> int:
        return len(self.records)

    def number(self, node_id: UUID) -> int | None:
        """The number of a node; None if it is not there for whoever asks."""
        number = int(self.numbers(np.frombuffer(node_id.bytes, _ID))[0])
        return number if number >= 0 else None

    def numbers(self, node_ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """The numbers of nodes; -1 of those that are not there."""
        if not len(self):
            return np.full(len(node_ids), -1)
        numbers = np.minimum(np.searchsorted(self._ids, node_ids), len(self) - 1)
        return np.where(self._ids[numbers] == node_ids, numbers, -1)

    def node_id(self, number: int) -> str:
        """The id of a node."""
        return self._written(number)[0]

    def version(self, number: int) -> str | None:
        """The version of what a node holds; None where nothing of it may be kept."""
        return self._versions[number]

    def path(self, number: int) -> str:
        """The names from the root down to a node, as far as they are told."""
        return self._written(number)[1]

    def below(self, number: int) -> NDArray[np.bool_]:
        """Of each node, whether it is this one or lies below it."""
        reached: NDArray[np.bool_] = np.arange(len(self)) == number
        while not np.array_equal(wider := reached | reached[self.parents], reached):
            reached = wider
        return reached

    def beside(self, number: int) -> list[int]:
        """The nodes at the other ends of a node's edges."""
        beside: list[int] = self._beside[self._first_beside[number] : self._first_beside[number + 1]].tolist()
        return beside

    def around(self, numbers: Iterable[int], steps: int) -> set[int]:
        """Nodes, and those that so many edges lead to from one of them."""
        reached = set(numbers)
        last = reached
        for _ in range(steps):
            last = {other for number in last for other in self.beside(number)} - reached
            reached = reached | last
        return reached

    def likeness(self, route: Floats, most: int) -> NDArray[Any]:
        """The cosine of the vector of a question and each centroid that may be among the ``most`` nearest; else NaN."""
        likeness = np.full(len(self), np.nan)
        near = np.arange(len(self._directions))
        if len(near) > _ESTIMATED * most:
            estimate = estimates([self._signs], route)
            near = np.argpartition(-estimate, _COMPARED * most)[: _COMPARED * most]
        if len(near):
            length = float(np.linalg.norm(route)) or np.nan
            likeness[near] = np.vecdot(self._directions[near], route[: self._directions.shape[1]]) / length
        return likeness

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 2 * self._centroids.nbytes + len(self) * _BYTES_OF_NODE

    @cached_property
    def _directions(self) -> Floats:
        lengths = np.linalg.norm(self._centroids, axis=1, keepdims=True)
        directions: Floats = (self._centroids / np.where(lengths > 0, lengths, np.nan)).astype(np.float32)
        return directions

    @cached_property
    def _signs(self) -> Signs:
        return Signs.of(np.nan_to_num(self._directions))

    def _written(self, number: int) -> tuple[str, str]:
        """The id of a node and the path to it, which are shown again and again."""
        if (written := self._shown.get(number)) is None:
            names, below = [], None
            above = number
            while above != below:
                names.append(self._names[above])
                below, above = above, int(self.parents[above])
            written = self._shown[number] = (
                str(UUID(bytes=self._sent_ids[number * 16 : number * 16 + 16])),
                shown_path(names[::-1]),
            )
        return written
