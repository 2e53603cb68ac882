"""Superseding a fact by another one because a person decided so."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.knowledge import chains
from neurigraph_pipelines.knowledge.effects import ask_about_fallen, dependants, read_beliefs
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.knowledge.undoing import take_back
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.kinds import Effect

_QUERIES = statements("verdicts")


def supersede_fact(context: Context, fact_id: UUID, by: UUID, guard: Guard = FREE) -> None:
    """Let a fact be superseded by another one; taking the other one back takes this back.

    Args:
        context: With the claims of the owner of the graph.
        guard: Called with the graph locked, and before the commit.

    Raises:
        InvalidInputError: A fact cannot supersede itself.
        NotFoundError: One of them does not exist, or belongs to another user.
        ConflictError: One of them was taken back.
    """
    if fact_id == by:
        raise InvalidInputError("a fact cannot supersede itself: name another one")
    user_id = context.claims.user_id
    with context.database.pipeline() as tx:
        lock_facts(tx, user_id)
        guard.admit(tx)
        rows = tx.execute(_QUERIES["standing"], {"fact_ids": [fact_id, by], "user_id": user_id}).fetchall()
        if len(rows) < 2:
            raise NotFoundError
        if any(row["is_archived"] for row in rows):
            raise ConflictError("one of these facts was taken back: confirm it first")
        _supersede_between(tx, user_id, fact_id, by, author_of(context.claims))
        guard.note_result(tx)


def _supersede_between(tx: Transaction, user_id: UUID, fact_id: UUID, by: UUID, author: str) -> None:
    """Supersede a fact, and the values between the two that wait for a person, each by the next one."""
    reason, chain = "a person approved it", [fact_id, by]
    if _waits(tx, user_id, fact_id, by):
        waiting = chains.waiting(tx, by)
        between = waiting[: waiting.index(by)] if by in waiting else []
        between = between[between.index(fact_id) + 1 if fact_id in between else 0 :]
        chain = [fact_id, *(one for one in between if _waits(tx, user_id, one, by)), by]
    for earlier, later in pairwise(chain):
        # Two that say the same do not supersede each other.
        write_superseding(tx, user_id, earlier, later if _waits(tx, user_id, earlier, later) else by, author, reason)
    chains.settle(tx, chain, author, reason)


def _waits(tx: Transaction, user_id: UUID, earlier: UUID, later: UUID) -> bool:
    pair = {"user_id": user_id, "fact_id": earlier, "other_id": later}
    return any(row["effect"] == Effect.FLAGGED for row in tx.execute(_QUERIES["decided"], pair).fetchall())


def write_superseding(
    tx: Transaction, user_id: UUID, earlier_id: UUID, later_id: UUID, author: str, reason: str
) -> None:
    """Let a later fact supersede an earlier one, against any earlier decision about the two."""
    pair = {"later_id": later_id, "earlier_id": earlier_id}
    before = read_beliefs(tx, dependants(tx, [earlier_id]))
    take_back(tx, user_id, earlier_id, later_id, author)  # they cannot supersede each other
    tx.execute(_QUERIES["write_approved"], {**pair, "user_id": user_id, "judged_by": author, "reason": reason})
    rows = tx.execute(_QUERIES["superseding"], pair).fetchall()
    chains.enter(tx, later_id, earlier_id, {(row["later_id"], row["earlier_id"]) for row in rows})
    ask_about_fallen(tx, user_id, before)
