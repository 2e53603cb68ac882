"""Figures of an evaluation: sources within tokens, answers, cost and latency, and the worst cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neurigraph_pipelines.model.ports import Examiner
from neurigraph_pipelines.runtime.evaluation.asking import (
    ANSWERED,
    BUDGETS,
    CONTEXT,
    DEPTHS,
    SEARCH,
    WAYS,
    Readers,
    Result,
)
from neurigraph_pipelines.runtime.evaluation.scoring import KINDS
from neurigraph_pipelines.views.scalars import WireObject

WORST = 10
"""Cases that a report shows."""

Figures = WireObject
_PER = 1_000_000
"""Tokens that a rate is for."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The subject of figures.

    Attributes:
        subject: The file, and whose graph or which format.
        counted_by: The counter of tokens.
        offline_model: The model that reads where no other does.
        price_in: Price of a million tokens that are sent; None if not known. ``price_out`` is of those received.
    """

    subject: str
    counted_by: str
    offline_model: str
    embedder: str
    readers: Readers
    price_in: float | None = None
    price_out: float | None = None


def figures_of(results: Sequence[Result], about: Circumstances) -> Figures:
    """Return the figures of an evaluation as JSON has them. Shares are means over questions."""
    with_sources = [one for one in results if one.recall]
    readers = about.readers
    # Words that are compared say less about an answer than the sources found.
    order = _worth if readers.judge is not None else lambda one: _worth(one)[::-1]
    return {
        "subject": about.subject,
        "questions": len(results),
        "questions_with_sources": len(with_sources),
        "sources_not_found": sum(len(one.unknown) for one in results),
        "counted_by": about.counted_by,
        "embedder": about.embedder,
        "reader": (readers.reader.name if readers.reader else about.offline_model) if readers.is_asked else None,
        "judge": readers.judge.name if readers.judge else None,
        "sources_within_tokens": {
            way: _means(BUDGETS, [one.recall[way] for one in with_sources]) for way in WAYS if with_sources
        },
        "sources_among_first": {
            way: _means(DEPTHS, [one.hits[way] for one in with_sources])
            for way in (with_sources[0].hits if with_sources else ())
        },
        "answers": {way: _answers(results, way) for way in ANSWERED if readers.is_asked},
        "categories": {name: _category(among) for name, among in _by_category(results).items()},
        "block_tokens": _middle([one.tokens for one in results], 50),
        "latency_ms": _latency(results),
        "cost": {
            role: _cost(examiner, about)
            for role, examiner in {"reader": readers.reader, "judge": readers.judge}.items()
            if examiner is not None
        },
        "worst": [_case(one) for one in sorted(filter(_is_bad, results), key=order)[:WORST]],
        "not_run": list(_not_run(results, readers)),
    }


def _means(names: Iterable[int], shares: Sequence[Sequence[float]]) -> dict[str, float]:
    return {str(name): _mean(column) for name, column in zip(names, zip(*shares, strict=True), strict=True)}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def _answers(results: Iterable[Result], way: str) -> Figures:
    outcomes = [one.outcomes[way] for one in results if way in one.outcomes]
    scored = [one for one in outcomes if one.is_right is not None]
    counts = Counter(one.kind for one in outcomes)
    return {
        "scored": len(scored),
        "right": _mean([float(bool(one.is_right)) for one in scored]) if scored else None,
        **{kind: counts[kind] for kind in KINDS},
        "disputed": sum(one.is_disputed for one in outcomes),
    }


def _by_category(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for one in results:
        found.setdefault(one.asked.category, []).append(one)
    return found


def _category(among: Sequence[Result]) -> Figures:
    with_sources = [one for one in among if one.recall]
    return {
        "questions": len(among),
        **{
            way: _mean([one.recall[way][-1] for one in with_sources]) if with_sources else None
            for way in (CONTEXT, SEARCH)
        },
        "right": _answers(among, CONTEXT)["right"],
    }


def _latency(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    calls: dict[str, list[float]] = {}
    for one in results:
        for call, seconds in one.seconds.items():
            calls.setdefault(call, []).append(1_000 * seconds)
    return {call: {f"p{share}": round(_middle(taken, share), 1) for share in (50, 95)} for call, taken in calls.items()}


def _middle(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least ``percent`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _cost(examiner: Examiner, about: Circumstances) -> Figures:
    calls, sent, received = examiner.spent
    is_priced = about.price_in is not None and about.price_out is not None
    price = sent * (about.price_in or 0) + received * (about.price_out or 0) if is_priced else None
    return {
        "calls": calls,
        "tokens_sent": sent,
        "tokens_received": received,
        "price": None if price is None else round(price / _PER, 4),
    }


def _worth(one: Result) -> tuple[float, float]:
    """Return what a question's answer and its sources in the largest block are worth; unknown ones are good."""
    outcome = one.outcomes.get(CONTEXT)
    recall = one.recall[CONTEXT][-1] if one.recall else 1.0
    return (0.0 if outcome is not None and outcome.is_right is False else 1.0), recall


def _is_bad(one: Result) -> bool:
    return min(_worth(one)) < 1


def _case(one: Result) -> Figures:
    outcome = one.outcomes.get(CONTEXT)
    expected = "nothing that is remembered" if one.asked.is_unanswerable else one.asked.answer
    return {
        "sample": one.sample,
        "question": one.asked.text,
        "category": one.asked.category,
        "expected": expected,
        "answer": outcome.answer if outcome else "",
        "kind": outcome.kind if outcome else "",
        "right": outcome.is_right if outcome else None,
        "sources": one.recall[CONTEXT][-1] if one.recall else None,
        "missed": list(one.missed),
        "sources_not_found": list(one.unknown),
    }


def _not_run(results: Sequence[Result], readers: Readers) -> Iterable[str]:
    """Yield the limits of the figures."""
    if not readers.is_asked:
        yield "No question was answered: the figures are of sources alone."
    elif readers.reader is None:
        yield (
            "No language model has read: the offline ask answers by quoting, and the offline model quotes from the "
            "controls. Set NEURIGRAPH_LANGUAGE_MODEL for answers by a model."
        )
    if readers.is_asked and readers.judge is None:
        yield (
            "Nobody has judged: an answer counts as right if it is exactly the expected one, or contains its words. "
            "Answers in other words count as wrong."
        )
    if readers.is_asked and readers.reader is None and any(one.asked.options for one in results):
        yield "The offline model quotes and does not choose: questions with options need a language model."
    if not all(one.recall for one in results):
        yield "Sources are counted only for questions whose sources are known and stored."
