"""Effects of verdicts on the facts of one user: writing them with their cascade, and undoing them exactly.

Callers hold the lock of the user's beliefs. ``superseding`` decides what the effects are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge.believing import DISPUTED, Grounds, beliefs, is_shaken
from neurigraph_pipelines.knowledge.superseding import Decision
from neurigraph_pipelines.model.actions import ActionKind
from neurigraph_pipelines.model.verdicts import Effect, KnownFact, Verdict
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

MAX_ACTIONS = 10
"""Most actions that one memory makes; its other conflicts are shown with it."""

_QUERIES = statements("verdicts")


def write_effects(
    tx: Transaction,
    user_id: UUID,
    decisions: Sequence[Decision],
    judged_by: str,
    before_effects: Callable[[], None] | None = None,
) -> list[Decision]:
    """Write the verdicts of one record, what follows from them, and the actions for what is in doubt.

    Args:
        judged_by: The language model.
        before_effects: Called between the verdicts and what follows from them.

    Returns:
        The decisions that were written: a verdict that is there stands, and so does a fact that went meanwhile.
    """
    told = [one for one in decisions if one.judgement.verdict is not Verdict.UNRELATED]
    ids = {fact.fact_id for one in told for fact in (one.pair.later, one.pair.earlier)}
    rows = tx.execute(_QUERIES["standing"], {"fact_ids": sorted(ids), "user_id": user_id}).fetchall()
    standing = {row["fact_id"] for row in rows if not row["is_archived"]}
    told = [one for one in told if {one.pair.later.fact_id, one.pair.earlier.fact_id} <= standing]
    # A fact that others depend on may fall with what is decided here.
    resting = _dependants(tx, [one.pair.earlier.fact_id for one in told if one.effect is Effect.SUPERSEDES])
    resting |= _dependants(tx, [f.fact_id for one in told if one.effect is Effect.DISPUTES for f in _both(one)])
    before = read_beliefs(tx, resting)
    written = [one for one in told if _write(tx, user_id, one, judged_by)]
    if before_effects is not None:
        before_effects()
    for one in sorted(written, key=lambda one: (one.pair.later.order, one.pair.earlier.order), reverse=True):
        if one.effect is Effect.SUPERSEDES:
            _enter_chain(tx, user_id, one, decisions)
    _propose(tx, user_id, written)
    _cascade(tx, user_id, before)
    return written


def undo(tx: Transaction, user_id: UUID, earlier_id: UUID, later_id: UUID | None, undone_by: str) -> int:
    """Take back what verdicts did to a fact, of one pair or of all; return how many effects.

    What entered the chain of versions leaves it, and the others move up, so everything is as it was before.
    """
    tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
    values = {"user_id": user_id, "earlier_id": earlier_id, "later_id": later_id}
    found = tx.execute(_QUERIES["effects_of"], values).fetchall()
    for row in found:
        if row["entered"] is not None:
            _leave_chain(tx, row[f"{row['entered']}_id"])
        pair = {"later_id": row["later_id"], "earlier_id": row["earlier_id"]}
        tx.execute(_QUERIES["undo"], pair | {"undone_by": undone_by})
    return len(found)


def reject_verdict(tx: Transaction, user_id: UUID, later_id: UUID, earlier_id: UUID, rejected_by: str) -> None:
    """Take a verdict back, with what followed from it."""
    if not undo(tx, user_id, earlier_id, later_id, rejected_by):
        tx.execute(_QUERIES["undo"], {"later_id": later_id, "earlier_id": earlier_id, "undone_by": rejected_by})


def confirm_verdict(tx: Transaction, user_id: UUID, later_id: UUID, earlier_id: UUID, confirmed_by: str) -> bool:
    """Confirm a verdict; return False if its effects were taken back, which is not done again."""
    tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
    values = {"later_id": later_id, "earlier_id": earlier_id, "confirmed_by": confirmed_by}
    return tx.execute(_QUERIES["confirm"], values).fetchone() is not None


def read_beliefs(tx: Transaction, fact_ids: Iterable[UUID]) -> dict[UUID, float]:
    """Return the belief in some facts, from what the role of the transaction sees."""
    wanted = sorted(fact_ids)
    if not wanted:
        return {}
    return believed(tx.execute(_QUERIES["grounds"], {"fact_ids": wanted}).fetchall(), wanted)


def believed(rows: Sequence[dict[str, Any]], wanted: Iterable[UUID]) -> dict[UUID, float]:
    """Return the belief in some facts, from the rows of ``grounds``."""
    grounds = {
        row["fact_id"]: Grounds(row["confidences"] or (), (DISPUTED if row["disputed"] else 1.0) * bool(row["stands"]))
        for row in rows
    }
    depends = {row["fact_id"]: {UUID(one): strength for one, strength in row["depends"].items()} for row in rows}
    found = beliefs(grounds, depends)
    return {one: found[one] for one in wanted if one in found}


def _both(decision: Decision) -> tuple[KnownFact, KnownFact]:
    return decision.pair.later, decision.pair.earlier


def _dependants(tx: Transaction, fact_ids: Sequence[UUID]) -> set[UUID]:
    """Return the facts that depend on some facts, without those themselves: what happens to them is known."""
    if not fact_ids:
        return set()
    found = tx.execute(_QUERIES["dependants"], {"fact_ids": list(fact_ids)})
    return {row["fact_id"] for row in found} - set(fact_ids)


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


def _enter_chain(tx: Transaction, user_id: UUID, decision: Decision, decisions: Sequence[Decision]) -> None:
    """Let the one of two facts that stands alone enter the chain of the other, at its place in the world's order.

    A place between two versions needs that the later of them supersedes it, too.
    """
    pair = decision.pair
    ids = [pair.later.fact_id, pair.earlier.fact_id]
    places = {row["fact_id"]: row for row in tx.execute(_QUERIES["standing"], {"fact_ids": ids, "user_id": user_id})}
    chains = {one: _chain(tx, places[one]["root_id"]) for one in ids}
    if places[ids[0]]["root_id"] == places[ids[1]]["root_id"]:
        return
    if len(chains[ids[0]]) == 1:
        (entering, chain), after = (ids[0], chains[ids[1]]), chains[ids[1]].index(ids[1]) + 1
    elif len(chains[ids[1]]) == 1:
        (entering, chain), after = (ids[1], chains[ids[0]]), chains[ids[0]].index(ids[0])
    else:
        return  # two chains: the verdict alone says it
    superseding = {
        (one.pair.later.fact_id, one.pair.earlier.fact_id) for one in decisions if one.effect is Effect.SUPERSEDES
    }
    before, behind = chain[:after], chain[after:]
    is_fitting = (not before or (entering, before[-1]) in superseding) and (
        not behind or (behind[0], entering) in superseding
    )
    if is_fitting:
        tx.execute(_QUERIES["write_chain"], {"fact_ids": [*before, entering, *behind]})
        values = {"later_id": ids[0], "earlier_id": ids[1], "entered": "later" if entering == ids[0] else "earlier"}
        tx.execute(_QUERIES["note_entry"], values)


def _leave_chain(tx: Transaction, fact_id: UUID) -> None:
    found = tx.execute(_QUERIES["place_of"], {"fact_id": fact_id}).fetchone()
    if found is None:
        return
    others = [one for one in _chain(tx, found["root_id"]) if one != fact_id]
    if others:
        tx.execute(_QUERIES["write_chain"], {"fact_ids": others})
        tx.execute(_QUERIES["write_chain"], {"fact_ids": [fact_id]})


def _chain(tx: Transaction, root_id: UUID) -> list[UUID]:
    return [row["fact_id"] for row in tx.execute(_QUERIES["chain"], {"root_id": root_id})]


def _propose(tx: Transaction, user_id: UUID, written: Sequence[Decision]) -> None:
    """Make actions of what is in doubt, the most certain first."""
    doubtful = [one for one in written if one.effect in (Effect.DISPUTES, Effect.FLAGGED)]
    doubtful.sort(key=lambda one: (one.effect is not Effect.DISPUTES, -one.judgement.confidence))
    for one in doubtful[:MAX_ACTIONS]:
        later, earlier = _both(one)
        is_update = one.judgement.verdict is Verdict.UPDATES
        _ask(
            tx,
            Doubt(
                ActionKind.SUPERSEDE if is_update else ActionKind.RESOLVE,
                user_id,
                "update" if is_update else "contradiction",
                "belief",
                fact_id=earlier.fact_id if is_update else later.fact_id,
                other_fact_id=later.fact_id if is_update else earlier.fact_id,
                details={"confidence": round(one.judgement.confidence, 2)},
            ),
        )


def _cascade(tx: Transaction, user_id: UUID, before: dict[UUID, float]) -> None:
    """Make actions of beliefs that fell with what they depend on."""
    after = read_beliefs(tx, before)
    for fact_id, belief in sorted(after.items()):
        if is_shaken(before[fact_id], belief):
            details = {"before": round(before[fact_id], 2), "after": round(belief, 2)}
            _ask(tx, Doubt(ActionKind.RESOLVE, user_id, "belief_fell", "belief", fact_id=fact_id, details=details))


def _ask(tx: Transaction, doubt: Doubt) -> None:
    try:
        propose(tx, doubt)
    except NotFoundError:
        return  # gone meanwhile
