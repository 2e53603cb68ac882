"""The words of the nodes of a graph: which nodes hold a lexeme, and in how many passages.

Only graphs of which a part is searched need them; in others the layers that are searched say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.packs import read_words
from neurigraph_pipelines.retrieval.index.postings import Keys, Postings, together
from neurigraph_pipelines.views.scalars import Row

_LOOKED_UP_IN_EACH = 1
"""The first lookups are made in each node, because a write outdates words that are joined."""


class NodeWords(NamedTuple):
    """The lexemes of a node.

    Attributes:
        keys: In ascending order.
        passages: In how many passages each occurs.
    """

    keys: Keys
    passages: NDArray[np.int32]

    @classmethod
    def of(cls, row: Row) -> NodeWords:
        """Return the words in a row of ``neurigraph.node_words``."""
        packed = read_words(row["packed"] or b"")
        added = np.frombuffer(b"".join(row["added"]), "<u8")
        if not len(added):
            return cls(*packed)
        keys, places = np.unique(np.concatenate((packed[0], added)), return_inverse=True)
        counts = np.concatenate((packed[1], np.ones(len(added), np.int32)))
        return cls(keys, np.bincount(places, counts).astype(np.int32))

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.keys.nbytes + self.passages.nbytes


class GraphWords:
    """The words of all nodes of a graph.

    Args:
        numbers: The number of each node.
        words: The words of each.
    """

    def __init__(self, numbers: Sequence[int], words: Sequence[NodeWords]) -> None:
        self._numbers = np.array(numbers, np.intp)
        self._words = words
        self._lookups = 0

    def found(self, keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
        """Return the lexemes that occur, by their places in ``keys``, their nodes, and in how many passages of each."""
        self._lookups += 1
        if self._lookups > _LOOKED_UP_IN_EACH:
            lexeme, row, passages = together(self._joint.found(keys))
            return lexeme, self._numbers[row], passages
        counts = np.zeros((len(self._words), len(keys)), np.int32)
        for row, words in zip(counts, self._words, strict=True):
            if len(words.keys):
                places = np.minimum(words.keys.searchsorted(keys), len(words.keys) - 1)
                row[:] = np.where(words.keys[places] == keys, words.passages[places], 0)
        lexeme, node = counts.T.nonzero()
        return lexeme, self._numbers[node], counts[node, lexeme]

    @cached_property
    def _joint(self) -> Postings:
        """The words of all nodes as one: the rows are nodes."""
        nodes = np.repeat(np.arange(len(self._words)), [len(one.keys) for one in self._words])
        keys = np.concatenate([np.zeros(0, np.uint64), *(one.keys for one in self._words)])
        return Postings.of(keys, nodes, np.concatenate([np.zeros(0, np.int32), *(one.passages for one in self._words)]))
