"""The effects of a verdict: when a fact supersedes another one by itself, and when a person decides.

``reconciling`` asks for verdicts and writes the effects. This module knows no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.text.slots import plain_slot
from neurigraph_pipelines.views.kinds import Effect, FactKind, Verdict

SURE = 0.8
"""Least confidence of a verdict that has an effect by itself."""

LESS_CONFIDENT = 0.2
"""By how much a fact may be less certain than the one that it supersedes."""

STRONG = 0.6
"""Least confidence of two facts that dispute each other."""

MAX_EFFECTS = 5
"""Most facts of other memories that one memory changes by itself. One that changes more is for a person, as a whole."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A pair, its verdict, and the effect.

    Attributes:
        missing: Conditions of an automatic supersession that an update does not meet.
    """

    pair: Pair
    judgement: Judgement
    effect: Effect
    missing: tuple[str, ...] = ()


def decide(pair: Pair, judgement: Judgement, *, is_automatic: bool) -> Decision:
    """Return the effect of the verdict on a pair.

    Args:
        is_automatic: Whether updates supersede by themselves; else they wait for a person.
    """
    if judgement.verdict is Verdict.UPDATES:
        missing = missing_conditions(pair, judgement, is_automatic=is_automatic)
        return Decision(pair, judgement, Effect.FLAGGED if missing else Effect.SUPERSEDES, missing)
    if judgement.verdict is Verdict.CONTRADICTS:
        return Decision(pair, judgement, Effect.DISPUTES if _are_strong(pair, judgement) else Effect.FLAGGED)
    return Decision(pair, judgement, Effect.NONE)


def missing_conditions(pair: Pair, judgement: Judgement, *, is_automatic: bool) -> tuple[str, ...]:
    """Return the conditions that keep an update from superseding by itself; empty if all are met."""
    later, earlier = pair.later, pair.earlier
    conditions = {
        "the subject and slot are not the same": has_same_slot(pair),
        "the subject is a name of several people": not (later.is_ambiguous or earlier.is_ambiguous),
        "one of them is an event": FactKind.EVENT not in (later.kind, earlier.kind),
        "the new one is older": later.said_at >= earlier.said_at,
        "the new one is less certain": later.confidence >= earlier.confidence - LESS_CONFIDENT - 1e-6,
        "the new one has less authority": later.authority >= earlier.authority,
        "the verdict is not certain": judgement.confidence >= SURE,
        "the earlier one is pinned": not earlier.is_kept,
        "superseding is not automatic here": is_automatic,
    }
    return tuple(name for name, is_met in conditions.items() if not is_met)


def has_same_slot(pair: Pair) -> bool:
    """Whether both facts fill the same slot of the same subject, of which only one value can be true."""
    later = plain_slot(pair.later.slot, pair.later.statement)
    earlier = plain_slot(pair.earlier.slot, pair.earlier.statement)
    if later is None or earlier is None:
        return False
    return (later.subject, later.relation) == (earlier.subject, earlier.relation)


def within_limit(decisions: Sequence[Decision], record_id: UUID) -> list[Decision]:
    """Return the decisions of one memory; if it changes too many facts of others, all these changes wait for a person.

    A document that contradicts everything thereby changes nothing.
    """
    effects = [one for one in decisions if _changes_others(one, record_id)]
    changed = {one.pair.earlier.fact_id for one in effects}
    if len(changed) <= MAX_EFFECTS:
        return list(decisions)
    reason = f"one memory changes {len(changed)} facts"
    return [
        replace(one, effect=Effect.FLAGGED, missing=(*one.missing, reason)) if one in effects else one
        for one in decisions
    ]


def _changes_others(decision: Decision, record_id: UUID) -> bool:
    """Whether a memory supersedes or disputes a fact of another one."""
    later, earlier = decision.pair.later.record_id, decision.pair.earlier.record_id
    if decision.effect is Effect.DISPUTES:
        return later != earlier
    return decision.effect is Effect.SUPERSEDES and later == record_id != earlier


def _are_strong(pair: Pair, judgement: Judgement) -> bool:
    later, earlier = pair.later, pair.earlier
    return (
        judgement.confidence >= SURE
        and min(later.confidence, earlier.confidence) >= STRONG
        and later.authority == earlier.authority
        and not (later.is_ambiguous or earlier.is_ambiguous)
        and not (later.is_kept or earlier.is_kept)
    )
