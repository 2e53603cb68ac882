"""Reranking of texts by a model that reads them; without one, or if it fails, the order stays."""

from __future__ import annotations

from collections.abc import Sequence

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.ports import Reranker


def rerank(reranker: Reranker | None, question: str, texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the order in which a reranker puts texts, and a note if it gave none.

    Returns:
        Indexes of ``texts``, best first; in their order without a reranker, or if it fails.
    """
    order = list(range(len(texts)))
    if reranker is None or not texts:
        return order, []
    try:
        scores = reranker.scores(question, texts)
    except NeurigraphError:
        return order, [f"{reranker.name} could not rerank: the order is that of the search."]
    return sorted(order, key=lambda index: -scores[index]), []
