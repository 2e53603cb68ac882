"""The belief in a fact, and the effects of a memory: its facts, the links inferred for them, and their conflicts.

Everything is over what the caller sees. The belief itself is the owner's: it would tell of facts that others may not
see.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.paging import Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.effects import GroundsOfFact, believed
from neurigraph_pipelines.knowledge.fact_lists import fact
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.facts import Belief, BroughtFacts, ConflictingBelief, Fact, FactConflict, InferredLink
from neurigraph_pipelines.views.kinds import Verdict

_QUERIES = statements("verdicts")
_CONFLICTS: dict[Verdict, Literal["update", "contradiction", "duplicate"]] = {
    Verdict.UPDATES: "update",
    Verdict.CONTRADICTS: "contradiction",
    Verdict.SAME: "duplicate",
}
_LINKS: dict[Verdict, Literal["contradicts", "elaborates", "supports", "depends_on"]] = {
    Verdict.CONTRADICTS: "contradicts",
    Verdict.ELABORATES: "elaborates",
    Verdict.SUPPORTS: "supports",
    Verdict.DEPENDS_ON: "depends_on",
}
REASONS = {
    Verdict.SAME: "it says the same",
    Verdict.UPDATES: "the later one replaces the earlier one",
    Verdict.CONTRADICTS: "both cannot be true",
    Verdict.ELABORATES: "it adds details",
    Verdict.SUPPORTS: "it makes the other one more likely",
    Verdict.DEPENDS_ON: "it holds only if the other one does",
}
"""The reason as callers other than the owner read it: a model's own words may tell of what they may not see."""

MOST_STEPS = 100
"""Most versions that are followed from a fact to the current one."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A later and an earlier fact, with the decision about them; ``missing`` kept the decision from taking effect."""

    later_id: UUID
    earlier_id: UUID
    later_statement: str
    earlier_statement: str
    later_record_id: UUID
    earlier_record_id: UUID
    later_said_at: datetime
    earlier_said_at: datetime
    verdict: Verdict
    confidence: float
    reason: str
    missing: Sequence[str]
    effect: Literal["supersedes", "disputes", "flagged", "none"]
    undone_at: datetime | None
    is_owner: bool


def belief(database: Database, claims: Claims, fact_id: UUID) -> Belief:
    """Return the current version of a fact, how far it is believed, and the facts that conflict with it.

    Raises:
        NotFoundError: There is no such fact, or the caller does not see it.
    """
    current = fact(database, claims, fact_id)
    seen = {fact_id}
    while (after := current.superseded_by) is not None and after not in seen and len(seen) < MOST_STEPS:
        seen.add(after)
        current = fact(database, claims, after)
    pairs = _pairs(database, claims, fact_ids=sorted(seen))
    pairs = [pair for pair in pairs if pair.verdict in (Verdict.UPDATES, Verdict.CONTRADICTS)]
    return Belief(
        fact_id=fact_id,
        current_belief=current,
        conflicting_beliefs=[_conflicting(pair, seen) for pair in pairs],
        confidence=current.confidence,
        belief=_belief(database, claims, current.fact_id) if claims.role == "user" else None,
        needs_review=any(pair.effect in ("flagged", "disputes") and pair.undone_at is None for pair in pairs),
    )


def brought(database: Database, claims: Claims, record_id: UUID, page: Page[Fact]) -> BroughtFacts:
    """Return the effect of a memory's facts on known facts: new facts, inferred links, and conflicts."""
    pairs = _pairs(database, claims, record_id=record_id)
    repeated = [one for one in page.items if one.canonical_id != one.fact_id]
    again = {one.fact_id for one in repeated}
    return BroughtFacts(
        facts=page.items,
        next_cursor=page.next_cursor,
        created=[one.fact_id for one in page.items if one.fact_id not in again],
        inferred_links=[
            InferredLink(
                from_fact_id=pair.later_id,
                to_fact_id=pair.earlier_id,
                relation=_LINKS[pair.verdict],
                confidence=pair.confidence,
                reason=pair.reason,
            )
            for pair in pairs
            if pair.verdict in _LINKS
        ],
        conflicts=[
            *(_conflict(pair, record_id) for pair in pairs if pair.verdict in _CONFLICTS),
            *map(_repetition, repeated),
        ],
    )


def _pairs(
    database: Database, claims: Claims, *, fact_ids: Sequence[UUID] | None = None, record_id: UUID | None = None
) -> list[_Pair]:
    """Return the verdicts on some facts, or on a record's facts, of which the caller sees both sides."""
    values = {
        "user_id": claims.user_id,
        "fact_ids": None if fact_ids is None else list(fact_ids),
        "record_id": record_id,
    }
    pairs = [_Pair(**row) for row in database.ask(claims, _QUERIES["verdicts_of"], values)]
    return [pair if pair.is_owner else replace(pair, reason=REASONS[pair.verdict]) for pair in pairs]


def _belief(database: Database, claims: Claims, fact_id: UUID) -> float | None:
    grounds = ask_rows(database, claims, _QUERIES["grounds"], GroundsOfFact, {"fact_ids": [fact_id]})
    found = believed(grounds, [fact_id])
    return round(found[fact_id], 4) if fact_id in found else None


def _conflicting(pair: _Pair, versions: Collection[UUID]) -> ConflictingBelief:
    """Return the side of a verdict that is no version of the fact, or an earlier one, with its resolution."""
    is_earlier = pair.later_id in versions or pair.effect == "supersedes"
    relationship: Literal["superseded", "contradicts", "disputed"] = "contradicts"
    resolution = None
    if pair.undone_at is not None:
        resolution = "somebody took this back"
    elif pair.effect == "supersedes":
        relationship, resolution = "superseded", pair.reason
    elif pair.effect == "disputes":
        relationship = "disputed"
    return ConflictingBelief(
        fact_id=pair.earlier_id if is_earlier else pair.later_id,
        statement=pair.earlier_statement if is_earlier else pair.later_statement,
        said_at=pair.earlier_said_at if is_earlier else pair.later_said_at,
        relationship=relationship,
        resolution=resolution,
        reason=pair.reason,
        confidence=pair.confidence,
    )


def _conflict(pair: _Pair, record_id: UUID) -> FactConflict:
    is_later = pair.later_record_id == record_id
    return FactConflict(
        fact_id=pair.later_id if is_later else pair.earlier_id,
        existing_fact_id=pair.earlier_id if is_later else pair.later_id,
        type=_CONFLICTS[pair.verdict],
        suggested_action=_suggested(pair),
        confidence=pair.confidence,
        reason=pair.reason,
        effect=pair.effect,
    )


def _repetition(one: Fact) -> FactConflict:
    """Return that a fact has the words of a known one."""
    return FactConflict(
        fact_id=one.fact_id,
        existing_fact_id=one.canonical_id,
        type="duplicate",
        suggested_action="ignore",
        confidence=1.0,
        reason="the same words",
        effect="none",
    )


def _suggested(pair: _Pair) -> Literal["supersede", "merge", "flag"]:
    if pair.verdict == Verdict.SAME:
        return "merge"
    is_clear = pair.effect == "supersedes" or (len(pair.missing) == 1 and "automatic" in pair.missing[0])
    return "supersede" if pair.verdict == Verdict.UPDATES and is_clear else "flag"
