"""Other wordings of a question by a language model, and the joint result of their searches.

Without an expander, or if it fails, the question is asked as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.measuring import report
from neurigraph_pipelines.model.ports import Expander
from neurigraph_pipelines.retrieval.query.found import Found, FoundMessage, FoundRecord
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.hygiene import storable

OTHERS = 0.5
"""The weight of a place in the search of another wording; a place in that of the question itself counts 1."""

SMOOTHING = 10
"""The number added to each place, so that the first few count about the same (reciprocal rank fusion)."""

T = TypeVar("T", FoundRecord, FoundMessage)


def wordings(expander: Expander | None, question: str, most: int) -> tuple[list[str], list[str]]:
    """Return other wordings of a question, at most ``most``, and a note if the expander gave no answer."""
    if expander is None or not most:
        return [], []
    try:
        found = storable(expander.wordings(question, most)[:most])
    except Exception as error:  # a defect of an expander, too
        if not isinstance(error, NeurigraphError | OSError):
            leave_out("other wordings", error)
        report("expand_failed")
        return [], [f"{expander.name} could not word the question in other ways: it was searched as it is."]
    report("expanded", wordings=len(found))
    return found, []


def fused(asked: Found, others: Sequence[Found], question: Question) -> Found:
    """Return the results of a question and its other wordings, best first, up to the limits of the question.

    A hit of both has the score of the question itself. Anchors, notes and warmed nodes stay the question's.
    """
    found = [asked, *others]
    return replace(
        asked,
        records=_fused([one.records for one in found], lambda one: one.record.record_id)[: question.limit],
        messages=_fused([one.messages for one in found], lambda one: (one.key, one.seq))[: question.message_limit],
    )


def _fused(found: Sequence[Sequence[T]], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    """Return distinct results in the order of the sums of their reciprocal places; of equals, the first stays first."""
    share: defaultdict[Hashable, float] = defaultdict(float)
    first: dict[Hashable, T] = {}
    for number, results in enumerate(found):
        for place, one in enumerate(results):
            share[key(one)] += (OTHERS if number else 1.0) / (SMOOTHING + place)
            first.setdefault(key(one), one)
    return tuple(sorted(first.values(), key=lambda one: -share[key(one)]))
