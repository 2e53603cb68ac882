"""Effects of verdicts on the facts of one user: writing them with their cascade.

Callers hold the lock of the user's beliefs. ``superseding`` decides on the effects, ``undoing`` takes them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge import chains
from neurigraph_pipelines.knowledge.believing import DISPUTED, Grounds, beliefs, is_shaken
from neurigraph_pipelines.knowledge.superseding import Decision
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.model.verdicts import KnownFact
from neurigraph_pipelines.views.kinds import ActionKind, Effect, Verdict

MAX_ACTIONS = 10
"""Most actions that one memory makes; its other conflicts are shown with it."""

_QUERIES = statements("verdicts")


class GroundsOfFact(NamedTuple):
    """The grounds of a fact: a row of the query ``grounds``.

    Attributes:
        confidences: The greatest confidence of each source that says the same.
        depends: The strengths of the facts that it depends on, by their ids.
    """

    fact_id: UUID
    confidences: list[float] | None
    stands: bool | None
    disputed: bool | None
    depends: dict[str, float]


def write_effects(
    tx: Transaction,
    user_id: UUID,
    decisions: Sequence[Decision],
    judged_by: str,
    before_effects: Callable[[], None] | None = None,
) -> list[Decision]:
    """Write the verdicts of one record, their effects, and actions for the doubtful verdicts.

    Args:
        judged_by: The language model.
        before_effects: Called between the verdicts and their effects.

    Returns:
        The decisions that were written: a verdict that is there stands, and so does a fact that went meanwhile.
    """
    related = [one for one in decisions if one.judgement.verdict is not Verdict.UNRELATED]
    ids = {fact.fact_id for one in related for fact in (one.pair.later, one.pair.earlier)}
    rows = tx.execute(_QUERIES["standing"], {"fact_ids": sorted(ids), "user_id": user_id}).fetchall()
    standing = {row["fact_id"] for row in rows if not row["is_archived"]}
    related = [one for one in related if {one.pair.later.fact_id, one.pair.earlier.fact_id} <= standing]
    # A fact that others depend on may fall with this decision.
    resting = dependants(tx, [one.pair.earlier.fact_id for one in related if one.effect is Effect.SUPERSEDES])
    resting |= dependants(tx, [f.fact_id for one in related if one.effect is Effect.DISPUTES for f in _both(one)])
    before = read_beliefs(tx, resting)
    written = [one for one in related if _write(tx, user_id, one, judged_by)]
    if before_effects is not None:
        before_effects()
    superseding = {
        (one.pair.later.fact_id, one.pair.earlier.fact_id) for one in decisions if one.effect is Effect.SUPERSEDES
    }
    for one in sorted(written, key=lambda one: (one.pair.later.order, one.pair.earlier.order), reverse=True):
        if one.effect is Effect.SUPERSEDES:
            chains.enter(tx, one.pair.later.fact_id, one.pair.earlier.fact_id, superseding)
    _propose(tx, user_id, written)
    ask_about_fallen(tx, user_id, before)
    return written


def dependants(tx: Transaction, fact_ids: Sequence[UUID]) -> set[UUID]:
    """Return the other facts that depend on some facts."""
    if not fact_ids:
        return set()
    found = tx.execute(_QUERIES["dependants"], {"fact_ids": list(fact_ids)})
    return {row["fact_id"] for row in found} - set(fact_ids)


def read_beliefs(tx: Transaction, fact_ids: Iterable[UUID]) -> dict[UUID, float]:
    """Return the belief in some facts, from the facts that the role of the transaction sees."""
    wanted = sorted(fact_ids)
    if not wanted:
        return {}
    return believed(rows_of(tx, _QUERIES["grounds"], GroundsOfFact, {"fact_ids": wanted}), wanted)


def believed(rows: Sequence[GroundsOfFact], wanted: Iterable[UUID]) -> dict[UUID, float]:
    """Return the belief in some facts, from their grounds."""
    grounds = {
        row.fact_id: Grounds(row.confidences or (), (DISPUTED if row.disputed else 1.0) * bool(row.stands))
        for row in rows
    }
    depends = {row.fact_id: {UUID(one): strength for one, strength in row.depends.items()} for row in rows}
    found = beliefs(grounds, depends)
    return {one: found[one] for one in wanted if one in found}


def ask_about_fallen(tx: Transaction, user_id: UUID, before: dict[UUID, float]) -> None:
    """Make actions of beliefs that fell with the facts that they depend on."""
    after = read_beliefs(tx, before)
    for fact_id, belief in sorted(after.items()):
        if is_shaken(before[fact_id], belief):
            details = {"before": round(before[fact_id], 2), "after": round(belief, 2)}
            _ask(tx, Doubt(ActionKind.RESOLVE, user_id, "belief_fell", "belief", fact_id=fact_id, details=details))


def _both(decision: Decision) -> tuple[KnownFact, KnownFact]:
    return decision.pair.later, decision.pair.earlier


def _write(tx: Transaction, user_id: UUID, decision: Decision, judged_by: str) -> bool:
    pair, judgement = decision.pair, decision.judgement
    values = {
        "later_id": pair.later.fact_id,
        "earlier_id": pair.earlier.fact_id,
        "user_id": user_id,
        "verdict": judgement.verdict,
        "confidence": judgement.confidence,
        "reason": judgement.reason,
        "missing": list(decision.missing),
        "effect": decision.effect,
        "judged_by": judged_by,
    }
    return tx.execute(_QUERIES["write_verdict"], values).fetchone() is not None


def _propose(tx: Transaction, user_id: UUID, written: Sequence[Decision]) -> None:
    """Make actions of doubts, the most certain first: one for all values of a property."""
    doubtful = [one for one in written if one.effect in (Effect.DISPUTES, Effect.FLAGGED)]
    doubtful.sort(key=lambda one: (one.effect is not Effect.DISPUTES, -one.judgement.confidence))
    asked: set[UUID] = set()
    for one in doubtful:
        later, earlier = (fact.fact_id for fact in _both(one))
        if len(asked) >= MAX_ACTIONS or later in asked:
            continue
        asked.add(later)
        if one.judgement.verdict is not Verdict.UPDATES:
            doubt = Doubt(ActionKind.RESOLVE, user_id, "contradiction", "belief", fact_id=later, other_fact_id=earlier)
        else:
            chain = chains.waiting(tx, later)
            if len(chain) < 2:
                continue  # superseded meanwhile
            asked.update(chain)
            chains.ask_once(tx, chain)
            doubt = Doubt(ActionKind.SUPERSEDE, user_id, "update", "belief", fact_id=chain[0], other_fact_id=chain[-1])
        _ask(tx, replace(doubt, details={"confidence": round(one.judgement.confidence, 2)}))


def _ask(tx: Transaction, doubt: Doubt) -> None:
    try:
        propose(tx, doubt)
    except NotFoundError:
        return  # gone meanwhile
