"""Superseding a fact by another one because a person decided so."""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.guards import FREE, Guard
from neurigraph_pipelines.history import author_of
from neurigraph_pipelines.knowledge.effects import write_approved_update
from neurigraph_pipelines.statements import statements

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
        lock_graph_shared(tx, user_id)
        tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
        guard.admit(tx)
        rows = tx.execute(_QUERIES["standing"], {"fact_ids": [fact_id, by], "user_id": user_id}).fetchall()
        if len(rows) < 2:
            raise NotFoundError
        if any(row["is_archived"] for row in rows):
            raise ConflictError("one of these facts was taken back: confirm it first")
        write_approved_update(tx, user_id, fact_id, by, author_of(context.claims))
        guard.note_result(tx)
