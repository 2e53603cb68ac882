"""How pairs of facts are shown to a language model, the schema of its answer, and the meaning of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from neurigraph_pipelines.model.verdicts import MAX_REASON, UNRELATED, Judgement, KnownFact, Pair
from neurigraph_pipelines.views.kinds import Verdict
from resources.providers.answers import StrictAnswer
from resources.well_formed import well_formed


class VerdictAnswer(StrictAnswer):
    """The verdict on one pair, after the reason for it."""

    pair: int
    reason: str
    verdict: Literal["same", "updates", "contradicts", "elaborates", "supports", "depends_on", "unrelated"]
    confidence: float


class VerdictsAnswer(StrictAnswer):
    """The verdicts on all pairs but unrelated ones."""

    verdicts: list[VerdictAnswer]


def pairs_text(pairs: Sequence[Pair]) -> str:
    """Return pairs as lines: the facts with their numbers and days, then the pairs with theirs."""
    facts = {one.fact_id: one for pair in pairs for one in (pair.earlier, pair.later)}
    numbers = {fact_id: number for number, fact_id in enumerate(facts, start=1)}
    lines = [f"F{numbers[one.fact_id]}: {_fact(one)}" for one in facts.values()]
    lines += [
        f"P{number}: earlier F{numbers[pair.earlier.fact_id]}, later F{numbers[pair.later.fact_id]}"
        for number, pair in enumerate(pairs, start=1)
    ]
    return "\n".join(lines)


def read_verdicts(answer: VerdictsAnswer, pairs: Sequence[Pair]) -> list[Judgement]:
    """Return the verdict on each pair; a pair that the answer leaves out is unrelated."""
    found: dict[int, Judgement] = {}
    for one in answer.verdicts:
        confidence = min(1.0, max(0.0, one.confidence)) if one.confidence == one.confidence else 0.0
        reason = " ".join(well_formed(one.reason).split())[:MAX_REASON] or "no reason was given"
        found.setdefault(one.pair, Judgement(Verdict(one.verdict), confidence, reason))
    return [found.get(number, UNRELATED) for number in range(1, len(pairs) + 1)]


def _fact(fact: KnownFact) -> str:
    statement = " ".join(well_formed(fact.statement).split())
    return f"({fact.said_at:%Y-%m-%d %H:%M}, {fact.kind.value}, {fact.authority.name.lower()}) {statement}"
