"""The words of a question in a graph: where they occur, and how rare they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.node_words import GraphWords, NodeWords
from neurigraph_pipelines.retrieval.index.packs import FORMAT
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.caching import cache_bytes, search_caches
from neurigraph_pipelines.text.search_segments import lexeme_keys

EVERYWHERE = 4_000
"""Words count for nodes from the rarest on, as long as they occur in fewer passages together: a word that is almost
everywhere speaks for no node."""

ASSUMED_PASSAGES = 1_000
"""The assumed size of a graph whose words the caller may not count."""

_WORDS = np.dtype([("node_id", "S16"), ("score", ">f4")])
_NONE = np.zeros(0, np.intp)
_QUERIES = statements("search")


class WordCounts(NamedTuple):
    """Where the words of a question occur.

    Attributes:
        rarities: The inverse document frequency of each lexeme.
        lexeme: A rare lexeme, by its place in the question,
        node: a node that holds it, by its number among the shells,
        passages: and in how many passages.
    """

    rarities: NDArray[Any]
    lexeme: NDArray[np.intp] = _NONE
    node: NDArray[np.intp] = _NONE
    passages: NDArray[np.intp] = _NONE

    def content_scores(self, nodes: int) -> NDArray[Any]:
        """Return, for each node, how much of the question's rarity its content holds, and how often; 0 for most."""
        if not len(self.lexeme):
            return np.zeros(nodes)
        is_counted = np.bincount(self.lexeme, minlength=len(self.rarities)) > 0
        share = self.rarities[self.lexeme] / self.rarities[is_counted].sum() * self.passages / (self.passages + 1)
        return np.bincount(self.node, share, minlength=nodes)


def counted_in_rows(rows: Rows, nodes: Sequence[int], lexemes: Sequence[str]) -> WordCounts:
    """Return where lexemes occur in layers that are in memory.

    Args:
        nodes: The number of the node of each layer.
    """
    lexeme, row, _ = rows.occurrences(lexeme_keys(lexemes))
    in_passages = row < rows.places
    layer, lexeme = rows.layer_of_place[row[in_passages]], lexeme[in_passages]
    lexeme, number = lexeme[layer >= 0], np.array(nodes, np.intp)[layer[layer >= 0]]
    width = max(nodes, default=0) + 1
    counts = np.bincount(lexeme * width + number, minlength=len(lexemes) * width).reshape(len(lexemes), width)
    lexeme, number = counts.nonzero()
    return _counted(len(lexemes), lexeme, number, counts[lexeme, number], rows.current_passages)


def counted_in_graph(words: GraphWords, shells: Shells, lexemes: Sequence[str]) -> WordCounts:
    """Return where lexemes occur in all nodes of a graph."""
    return _counted(len(lexemes), *words.found(lexeme_keys(lexemes)), int(shells.passages.sum()))


def uncounted(lexemes: Sequence[str]) -> WordCounts:
    """Return the counts for a caller who may not count words: all are equally rare, and speak for no node."""
    return WordCounts(rarities_of(np.ones(len(lexemes)), ASSUMED_PASSAGES))


def rarities_of(occurrences: NDArray[Any], passages: int) -> NDArray[Any]:
    """Return the inverse document frequency of BM25 for lexemes that occur in so many of all passages."""
    rarities: NDArray[Any] = np.log1p((np.maximum(passages - occurrences, 0) + 0.5) / (occurrences + 0.5))
    return rarities


def words_of_graph(context: Context, shells: Shells) -> GraphWords:
    """Return the words of all nodes of a graph. One call to the database reads the words of changed nodes."""
    if shells.words is not None:
        return shells.words
    cache, capacity = search_caches(context).nodes, cache_bytes(context)
    found: dict[str, NodeWords] = {}
    for node_id, version in shells.versions.items():
        words = cache.get(NodeWords, node_id, version) if capacity and version is not None else None
        if words is not None:
            found[node_id] = words
    missing = [node_id for node_id in shells.versions if node_id not in found]
    parameters = {"nodes": missing, "format": FORMAT}
    rows = context.database.ask(context.claims, _QUERIES["node_words"], parameters, binary=True) if missing else ()
    for row in rows:
        node_id = str(row["node_id"])
        found[node_id] = words = NodeWords.of(row)
        if capacity and row["version"] is not None:
            cache.put(node_id, words, capacity, size=words.size, version=row["version"])
    filled = dict(zip(shells.versions, shells.filled.tolist(), strict=True))
    shells.words = GraphWords([filled[node_id] for node_id in found], list(found.values()))
    return shells.words


def shares_in_shells(shells: Shells, packed: bytes | None, stems: Sequence[str]) -> NDArray[Any]:
    """Return, for each node, the share of the question's stems that its shell holds.

    Args:
        packed: The shares of nodes, in a row of ``neurigraph.search_gate``; those of few nodes are computed here.
    """
    if shells.stems is not None and compares_stems(shells, stems):
        shares = np.array([sum(map(shell.__contains__, stems)) for shell in shells.stems]) / max(len(stems), 1)
        return shares.astype(np.float32)
    if not packed:
        return np.zeros(len(shells))
    words = np.frombuffer(packed, _WORDS)
    return np.bincount(shells.numbers(words["node_id"]) + 1, words["score"], minlength=len(shells) + 1)[1:]


def compares_stems(shells: Shells, stems: Iterable[str]) -> bool:
    """Return whether stems are compared with shells in memory: few nodes, and words that Postgres does not split."""
    return shells.stems is not None and all(stem.isascii() and stem.isalnum() for stem in stems)


def _counted(
    lexemes: int, lexeme: NDArray[np.intp], node: NDArray[np.intp], counts: NDArray[Any], passages: int
) -> WordCounts:
    occurrences = np.bincount(lexeme, counts, minlength=lexemes)
    order = np.argsort(occurrences, kind="stable")
    is_rare = np.isin(lexeme, order[np.cumsum(occurrences[order]) < EVERYWHERE])
    return WordCounts(rarities_of(occurrences, passages), lexeme[is_rare], node[is_rare], counts[is_rare])
