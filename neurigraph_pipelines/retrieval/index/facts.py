"""Facts in memory: where each is said, and the words of its statement. The statements themselves are not kept.

``query.facts`` reads them and decides for whom; scores belong to the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.packed_rows import format_id
from neurigraph_pipelines.retrieval.index.postings import Keys, Numbers, Postings
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.text.search_segments import lexeme_keys
from neurigraph_pipelines.views.scalars import Row

_MESSAGES = np.dtype([("first", ">i4"), ("last", ">i4")])
_BYTES_OF_FACT = 100


class NodeFacts:
    """The facts of one node, as one caller sees them.

    Args:
        row: A row of the query ``facts_of_nodes``.
        lexemes: Returns the distinct lexemes of a statement.

    Attributes:
        version: Changes with any of the facts.
        ids: The id of each fact, 16 bytes.
        records: The id of each fact's record, 16 bytes.
        messages: The numbers of the first and the last message that state it, ``(facts, 2)``.
        postings: The lexemes of the statements, by fact.
    """

    def __init__(self, row: Row, lexemes: Callable[[str], Sequence[str]]) -> None:
        self.version: str = row["version"]
        self.ids = np.frombuffer(row["fact_ids"] or b"", "V16")
        self.records = np.frombuffer(row["record_ids"] or b"", "V16")
        messages = np.frombuffer(row["messages"] or b"", _MESSAGES)
        self.messages: Numbers = np.stack((messages["first"], messages["last"]), axis=1).astype(np.intp)
        words = [lexemes(statement) for statement in row["statements"] or ()]
        of_fact = np.repeat(np.arange(len(words)), [len(one) for one in words])
        self.postings = Postings.of(
            lexeme_keys(chain.from_iterable(words)), of_fact.astype(np.intp), np.ones(len(of_fact), np.intp)
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return self.postings.size + len(self) * _BYTES_OF_FACT


class FactRows:
    """The facts of several nodes, numbered one after another, joined to the rows that a question is ranked by.

    Args:
        rows: The rows by which the question is ranked. A fact none of whose messages is among them is not found.
        nodes: The facts of the nodes of those rows, in any order.

    Attributes:
        rows: The rows that they are joined to.
        facts: How many there are.
        fact: The number of a fact, for each pair of a fact and one of its passages,
        passage: and the row of that passage.
    """

    def __init__(self, rows: Rows, nodes: Sequence[NodeFacts]) -> None:
        self.rows = rows
        self._nodes = nodes
        *self._firsts, self.facts = accumulate(map(len, nodes), initial=0)
        begin, end = self._ranges(rows)
        counts = end - begin
        self.fact: Numbers = np.repeat(np.arange(self.facts), counts)
        self.passage: Numbers = np.arange(len(self.fact)) + np.repeat(begin - (np.cumsum(counts) - counts), counts)

    def _ranges(self, rows: Rows) -> tuple[Numbers, Numbers]:
        """Return where the passages of each fact begin and end; the same number twice for a fact without any."""
        stays = rows.present
        known = chain.from_iterable(layer.record_columns["id"] for layer in rows.layers)
        number = {one.tobytes(): row for row, one in enumerate(known) if stays is None or stays[row]}
        record = np.fromiter((number.get(one.tobytes(), -1) for node in self._nodes for one in node.records), np.intp)
        messages = np.concatenate([np.zeros((0, 2), np.intp), *(node.messages for node in self._nodes)])
        said = (rows.record << 32) + rows.column("first_message")  # ascending
        begin = np.searchsorted(said, (record << 32) + messages[:, 0])
        return begin, np.maximum(begin, np.searchsorted(said, (record << 32) + messages[:, 1], side="right"))

    def fact_id(self, fact: int) -> str:
        """Return the id of a fact."""
        number = int(np.searchsorted(self._firsts, fact, side="right")) - 1
        return format_id(self._nodes[number].ids[fact - self._firsts[number]].tobytes())

    def coverage(self, keys: Keys, rarities: NDArray[Any]) -> NDArray[Any]:
        """Return the share of the question's rarity in the words of each statement.

        Args:
            keys: Those of the question's lexemes.
            rarities: Their inverse document frequency.
        """
        covered = np.zeros(self.facts)
        for first, node in zip(self._firsts, self._nodes, strict=True):
            for place, found in node.postings.found(keys):
                covered[first + found[:, 0]] += rarities[place]
        return covered / max(float(rarities.sum()), np.finfo(float).tiny)

    def best_in(self, of_facts: NDArray[Any]) -> NDArray[Any]:
        """Return the best value of the facts that each passage states; 0 for a passage without facts."""
        best = np.zeros(self.rows.passages)
        np.maximum.at(best, self.passage, of_facts[self.fact])
        return best

    def best_of(self, of_passages: NDArray[Any]) -> NDArray[Any]:
        """Return the best value of the passages that state each fact; -inf for a fact without passages."""
        best = np.full(self.facts, -np.inf)
        np.maximum.at(best, self.fact, of_passages[self.passage])
        return best

    @property
    def size(self) -> int:
        """Size in bytes, without that of the nodes."""
        return self.fact.nbytes + self.passage.nbytes
