"""Reranking of texts by a model that reads them; without one, or if it fails, the order stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.measuring import report
from neurigraph_pipelines.model.ports import Reranker


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
        order.sort(key=lambda index: -scores[index])
    except Exception as error:  # a defect of a reranker, too
        if not isinstance(error, NeurigraphError | OSError):
            leave_out("reranking", error)
        report("rerank_failed")
        return list(range(len(texts))), [f"{reranker.name} could not rerank: the order is that of the search."]
    report("reranked", swapped=_swapped(order), first_changed=order[0] != 0)
    return order, []


def _swapped(order: Sequence[int]) -> float:
    """Return the share of pairs that changed their order: Kendall's distance, from 0 to 1."""
    swapped = sum(before > after for before, after in combinations(order, 2))
    return swapped / max(len(order) * (len(order) - 1) / 2, 1)
