"""Taking back what verdicts decided about facts, and deciding an update that waited.

Everything is as it was before: the facts, their chains of versions, and what waits for a person. The rows of the
verdicts stay as a log, and the same is not decided again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neurigraph_pipelines.access import require_owner
from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.guards import FREE, Guard
from neurigraph_pipelines.history import author_of
from neurigraph_pipelines.knowledge import chains
from neurigraph_pipelines.knowledge.believing import is_shaken
from neurigraph_pipelines.knowledge.effects import ask_about_fallen, dependants, read_beliefs
from neurigraph_pipelines.model.verdicts import Effect
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

_QUERIES, _FACTS = statements("verdicts"), statements("facts")


@dataclass(frozen=True, slots=True)
class Undone:
    """A decision about two facts that was taken back."""

    later_fact_id: UUID
    earlier_fact_id: UUID
    effect: Effect


def undo(context: Context, fact_id: UUID, other_id: UUID | None = None, guard: Guard = FREE) -> list[Undone]:
    """Take back what was decided about a fact by comparing it with others, or with one other.

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


def take_back(tx: Transaction, user_id: UUID, fact_id: UUID, other_id: UUID | None, undone_by: str) -> list[Undone]:
    """Take back what was decided about a fact, in a transaction that holds the lock of the graph."""
    tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
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
    return [Undone(row["later_id"], row["earlier_id"], Effect(row["effect"])) for row in found]


def accept_update(context: Context, row: Mapping[str, Any], guard: Guard) -> None:
    """Let a fact be superseded by another one, as an action asks for: the update waited for a person.

    Raises:
        NotFoundError: One of them was forgotten or taken back, or somebody took the verdict back.
        ConflictError: It waits no longer.
    """
    user_id, earlier_id, later_id = context.claims.user_id, row["fact_id"], row["other_fact_id"]
    pair = {"later_id": later_id, "earlier_id": earlier_id}
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, user_id)
        tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
        guard.admit(tx)
        both = tx.execute(_QUERIES["standing"], {"fact_ids": [earlier_id, later_id], "user_id": user_id}).fetchall()
        if len(both) < len(pair):
            raise NotFoundError("one of the two facts is gone")
        before = read_beliefs(tx, dependants(tx, [earlier_id]))
        if tx.execute(_QUERIES["accept"], pair).fetchone() is None:
            raise ConflictError("this update waits no longer: somebody decided about it")
        rows = tx.execute(_QUERIES["superseding"], pair).fetchall()
        chains.enter(tx, later_id, earlier_id, {(one["later_id"], one["earlier_id"]) for one in rows})
        ask_about_fallen(tx, user_id, before)
        guard.note_result(tx)


def _withdraw_fallen(tx: Transaction, fact_ids: set[UUID]) -> None:
    """End what asks about beliefs that fell, if they are back."""
    resting = dependants(tx, sorted(fact_ids)) | fact_ids
    asked = tx.execute(_QUERIES["fallen"], {"fact_ids": sorted(resting)}).fetchall()
    now = read_beliefs(tx, {row["fact_id"] for row in asked})
    over = [row["action_id"] for row in asked if not is_shaken(row["before"], now.get(row["fact_id"], 0.0))]
    if over:
        tx.execute(_QUERIES["withdraw_fallen"], {"action_ids": over})
