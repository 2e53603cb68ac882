"""Which nodes a question is about: by name, alias, keyword, edge and centroid.

Pure scoring over the rows of the graph index that the caller may see; the rows come from ``sql/queries/search.sql``,
and what is searched in each anchor is for ``search``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from uuid import UUID

from rapidfuzz import fuzz

from neurigraph_pipelines.graph.naming import fold, name_key
from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.lexemes import Lexer

NAME_SCORE = 1.0
FUZZY_SCORE = 0.8
EDGE_SCORE = 0.6
KEYWORD_SCORE = 0.5
FUZZY_RATIO = 86.0
"""Least similarity (0 to 100) of a misspelt name: one wrong letter in seven."""
_FUZZY_LENGTH = 5
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node that a question is searched in, why, and how strongly (0 to 1, comparable within one question)."""

    node_id: UUID
    schema_name: str
    node_path: str
    reason: str
    score: float


def choose_anchors(
    query: str,
    nodes: Sequence[Mapping[str, Any]],
    neighbours: Iterable[UUID],
    named: Mapping[UUID, float],
    lexer: Lexer,
    limit: int,
    records: int,
) -> list[Anchor]:
    """The nodes to search, best first.

    Args:
        query: What was asked.
        nodes: Rows of the query ``anchors``.
        neighbours: Nodes that share an edge with a named one.
        named: What ``match_names`` found.
        lexer: Tokenises the question and the nodes' keywords alike.
        limit: Most anchors, unless they hold too few records.
        records: How many records are asked for: anchors are added until they hold so many, or all are searched.
    """
    asked = set(lexer.lexemes(query))
    linked = set(neighbours)
    anchors: list[Anchor] = []
    for node in nodes:
        similarity = max(float(node["centroid_similarity"] or 0.0), 0.0)
        reason, score = "centroid", similarity * KEYWORD_SCORE
        words = {lexeme for word in node["node_keywords"] or () for lexeme in lexer.lexemes(word)}
        if asked & words:
            share = len(asked & words) / len(asked)
            reason, score = "keyword", KEYWORD_SCORE * share + score
        if node["node_id"] in linked:
            reason, score = "edge", max(EDGE_SCORE, score)
        if node["node_id"] in named:
            reason, score = "name", max(named[node["node_id"]], score)
        anchors.append(Anchor(node["node_id"], node["schema_name"], shown_path(node["names"]), reason, min(score, 1.0)))
    counts = {node["node_id"]: node["record_count"] for node in nodes}
    anchors = [anchor for anchor in anchors if counts[anchor.node_id] > 0]
    anchors.sort(key=lambda anchor: (-anchor.score, anchor.node_path))
    held = list(accumulate(counts[anchor.node_id] for anchor in anchors))
    return anchors[: max(limit, bisect_left(held, records) + 1)]


def match_names(query: str, nodes: Sequence[Mapping[str, Any]]) -> dict[UUID, float]:
    """Nodes whose name or alias stands in the question, as it is or nearly so.

    Returns:
        Scores by node: ``NAME_SCORE`` for a name as it is, ``FUZZY_SCORE`` for one that is close.
    """
    words = _WORD.findall(fold(query))
    phrase = f" {' '.join(words)} "
    long_words = [word for word in words if len(word) >= _FUZZY_LENGTH]
    found: dict[UUID, float] = {}
    for node in nodes:
        if node["layer_depth"] == 0:
            continue
        for name in (node["node_name"], *node["aliases"]):
            key = " ".join(_WORD.findall(name_key(name)))
            if not key:
                continue
            if f" {key} " in phrase:
                found[node["node_id"]] = NAME_SCORE
                break
            if len(key) >= _FUZZY_LENGTH and any(fuzz.ratio(key, word) >= FUZZY_RATIO for word in long_words):
                found.setdefault(node["node_id"], FUZZY_SCORE)
    return found
