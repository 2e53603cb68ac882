"""Taking back the effects of verdicts on facts.

Everything is as it was before: the facts, their chains of versions, and what waits for a person. The rows of the
verdicts stay as a log, and the same is not decided again.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.knowledge import chains
from neurigraph_pipelines.knowledge.believing import is_shaken
from neurigraph_pipelines.knowledge.effects import dependants, read_beliefs
from neurigraph_pipelines.knowledge.locks import lock_beliefs
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.facts import UndoneDecision
from neurigraph_pipelines.views.kinds import Effect

_QUERIES, _FACTS = statements("verdicts"), statements("facts")


def undo(context: Context, fact_id: UUID, other_id: UUID | None = None, guard: Guard = FREE) -> list[UndoneDecision]:
    """Undo the verdicts on a fact and others, or on a fact and one other.

    Returns:
        The decisions; none if there was nothing to take back.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: One of the facts does not exist.
    """
    claims = context.claims
    require_owner(claims)
    for one in (fact_id, other_id):
        if one is not None and not context.database.ask(claims, _FACTS["writable_fact"], {"fact_id": one}):
            raise NotFoundError
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, claims.user_id)
        guard.admit(tx)
        done = take_back(tx, claims.user_id, fact_id, other_id, author_of(claims))
        guard.note_result(tx)
    return done


def take_back(
    tx: Transaction, user_id: UUID, fact_id: UUID, other_id: UUID | None, undone_by: str
) -> list[UndoneDecision]:
    """Undo the verdicts on a fact, in a transaction that holds the lock of the graph."""
    lock_beliefs(tx, user_id)
    values = {"user_id": user_id, "fact_id": fact_id, "other_id": other_id}
    found = tx.execute(_QUERIES["decided"], values).fetchall()
    for row in found:
        pair = {"later_id": row["later_id"], "earlier_id": row["earlier_id"]}
        tx.execute(_QUERIES["undo"], pair | {"undone_by": undone_by})
        tx.execute(_QUERIES["withdraw_pair"], pair)
    for row in found:
        if row["effect"] == Effect.SUPERSEDES:
            chains.part(tx, row["later_id"], row["earlier_id"])
    _withdraw_fallen(tx, {row[side] for row in found for side in ("later_id", "earlier_id")})
    return [
        UndoneDecision(later_fact_id=row["later_id"], earlier_fact_id=row["earlier_id"], effect=row["effect"])
        for row in found
    ]


def reject(tx: Transaction, user_id: UUID, later_id: UUID, earlier_id: UUID, rejected_by: str) -> None:
    """Take a verdict back, also one that nothing followed from, in a transaction that holds the lock of the graph."""
    if not take_back(tx, user_id, later_id, earlier_id, rejected_by):
        pair = {"later_id": later_id, "earlier_id": earlier_id}
        tx.execute(_QUERIES["undo"], pair | {"undone_by": rejected_by})
        tx.execute(_QUERIES["withdraw_pair"], pair)


def confirm(tx: Transaction, user_id: UUID, later_id: UUID, earlier_id: UUID, confirmed_by: str) -> bool:
    """Confirm a verdict; return False if its effect was undone, which is final."""
    lock_beliefs(tx, user_id)
    values = {"later_id": later_id, "earlier_id": earlier_id, "confirmed_by": confirmed_by}
    return tx.execute(_QUERIES["confirm"], values).fetchone() is not None


def _withdraw_fallen(tx: Transaction, fact_ids: set[UUID]) -> None:
    """End the actions that ask about a fallen belief, if the belief has risen again."""
    resting = dependants(tx, sorted(fact_ids)) | fact_ids
    asked = tx.execute(_QUERIES["fallen"], {"fact_ids": sorted(resting)}).fetchall()
    now = read_beliefs(tx, {row["fact_id"] for row in asked})
    over = [row["action_id"] for row in asked if not is_shaken(row["before"], now.get(row["fact_id"], 0.0))]
    if over:
        tx.execute(_QUERIES["withdraw_fallen"], {"action_ids": over})
