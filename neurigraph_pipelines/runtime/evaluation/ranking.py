"""Plain rankings in memory, to compare searches with: BM25, cosine, and both fused by rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.text.lexemes import Lexer

K1, B = 1.5, 0.75
FUSION_K = 60
Rank = Callable[[str], list[str]]
"""Maps a question to turn ids, best first."""


def rank_by_bm25(turns: Mapping[str, str]) -> Rank:
    """Okapi BM25 over turns by id (Robertson and Zaragoza, 2009), with the product's stemming and stop words."""
    lexer, names = Lexer(), list(turns)
    counted = [Counter(lexer.lexemes(text)) for text in turns.values()]
    lengths = np.array([counts.total() for counts in counted])
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    postings: dict[str, dict[int, int]] = {}
    for index, counts in enumerate(counted):
        for lexeme, frequency in counts.items():
            postings.setdefault(lexeme, {})[index] = frequency

    def rank(question: str) -> list[str]:
        scores = np.zeros(len(names))
        for lexeme in set(lexer.lexemes(question)) & postings.keys():
            found = postings[lexeme]
            at, frequencies = np.array(list(found)), np.array(list(found.values()))
            rarity = np.log(1 + (len(names) - len(found) + 0.5) / (len(found) + 0.5))
            scores[at] += rarity * frequencies * (K1 + 1) / (frequencies + norms[at])
        return [names[index] for index in np.argsort(-scores, kind="stable")]

    return rank


def rank_by_cosine(turns: Mapping[str, str], embedder: Embedder) -> Rank:
    """Cosine of the vectors of question and turn; vectors have unit length."""
    names = list(turns)
    vectors = embedder.embed(list(turns.values()))

    def rank(question: str) -> list[str]:
        scores = vectors @ embedder.embed([question], "query")[0]
        return [names[index] for index in np.argsort(-scores, kind="stable")]

    return rank


def fuse_by_rank(*rankings: Rank) -> Rank:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

    def rank(question: str) -> list[str]:
        scores: dict[str, float] = {}
        for ranking in rankings:
            for place, name in enumerate(ranking(question), 1):
                scores[name] = scores.get(name, 0.0) + 1 / (FUSION_K + place)
        return sorted(scores, key=lambda name: -scores[name])

    return rank
