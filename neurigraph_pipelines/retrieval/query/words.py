"""The words of a question in a graph: counted by the database, or in layers that are in memory. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.postings import lexeme_keys
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.shells import Shells

EVERYWHERE = 4_000
"""Words count for nodes from the rarest on, as long as they occur in fewer passages together: a word that is almost
everywhere speaks for no node. ``neurigraph.search_gate`` has the same number."""

_CONTENT = np.dtype([("lexeme", ">i4"), ("node_id", "S16"), ("passages", ">i4")])
_WORDS = np.dtype([("node_id", "S16"), ("score", ">f4")])
_NONE = np.zeros(0, np.intp)


class WordCounts(NamedTuple):
    """Where the words of a question occur.

    Attributes:
        occurrences: The number of passages that hold each lexeme.
        lexeme: A rare lexeme, by its place in the question,
        node: a node that holds it, by its number among the shells; -1 if it is newer than those,
        passages: and in how many passages.
        in_shells: For each node, the share of the question's stems that its shell holds.
    """

    occurrences: Sequence[int]
    lexeme: NDArray[np.intp]
    node: NDArray[np.intp]
    passages: NDArray[np.intp]
    in_shells: NDArray[Any]


def unpacked(shells: Shells, row: Mapping[str, Any]) -> WordCounts:
    """Return the counts in a row of ``neurigraph.search_gate``."""
    lexeme = node = passages = _NONE
    if row["content"]:
        content = np.frombuffer(row["content"], _CONTENT)
        lexeme, node = content["lexeme"].astype(np.intp) - 1, shells.numbers(content["node_id"])
        passages = content["passages"].astype(np.intp)
    in_shells: NDArray[Any] = np.zeros(len(shells))
    if row["words"]:
        words = np.frombuffer(row["words"], _WORDS)
        number = shells.numbers(words["node_id"])
        in_shells = np.bincount(number + 1, words["score"], minlength=len(shells) + 1)[1:]
    return WordCounts(row["occurrences"], lexeme, node, passages, in_shells)


def counted(
    rows: Rows, nodes: Sequence[int], shells: Sequence[frozenset[str]], lexemes: Sequence[str], stems: Sequence[str]
) -> WordCounts:
    """Return the same counts, made from a whole graph in memory.

    Args:
        rows: Of all layers of the graph.
        nodes: The number of the node of each layer, in ascending order.
        shells: The stems in the shell of each node.
        stems: Words, and not such as Postgres would split.
    """
    lexeme, row, _ = rows.occurrences(lexeme_keys(lexemes))
    in_passages = row < rows.places
    layer = rows.layer_of_place[row[in_passages]]
    # Passages that a newer layer has as well get a node that nobody asks for.
    number = np.append(nodes, len(shells))[layer]
    width = len(shells) + 1
    counts = np.bincount(lexeme[in_passages] * width + number, minlength=len(lexemes) * width)
    counts = counts.reshape(len(lexemes), width)[:, :-1]
    occurrences = counts.sum(axis=1)
    order = np.argsort(occurrences, kind="stable")
    is_rare = np.zeros(len(lexemes), bool)
    is_rare[order] = np.cumsum(occurrences[order]) < EVERYWHERE
    found, node = (counts * is_rare[:, None]).nonzero()
    return WordCounts(occurrences.tolist(), found, node, counts[found, node], _in_shells(shells, stems))


def uncounted(shells: Sequence[frozenset[str]], lexemes: Sequence[str], stems: Sequence[str]) -> WordCounts:
    """Return what a caller gets who may not count words: all are equally rare, and speak for no node."""
    return WordCounts([1] * len(lexemes), _NONE, _NONE, _NONE, _in_shells(shells, stems))


def _in_shells(shells: Sequence[frozenset[str]], stems: Sequence[str]) -> NDArray[Any]:
    shares = np.array([sum(map(shell.__contains__, stems)) for shell in shells]) / max(len(stems), 1)
    return shares.astype(np.float32)


def content_scores(words: WordCounts, rarities: NDArray[Any]) -> NDArray[Any]:
    """Return, for each node, how much of the question's rarity its content holds, and how often; 0 for most."""
    nodes = len(words.in_shells)
    if not len(words.lexeme):
        return np.zeros(nodes)
    is_counted = np.bincount(words.lexeme, minlength=len(rarities)) > 0
    share = rarities[words.lexeme] / rarities[is_counted].sum() * words.passages / (words.passages + 1)
    # A node that is newer than the shells has the number -1, and its share is dropped.
    return np.bincount(words.node + 1, share, minlength=nodes + 1)[1:]
