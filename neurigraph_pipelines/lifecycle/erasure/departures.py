"""The sources that go with a member who left an organization: private sources, and shared ones if the member wished.

The membership has ended before, so nobody sees private sources meanwhile. Each record gets a receipt of its own. The
work is repeatable: it is done when no source is left, and a sweep finishes what a crash interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.erasures import Erasure

_QUERIES = statements("departures")


Erase = Callable[[Context, ErasureSubject], Erasure]
"""Forgets a record of the graph whose owner's claims the context has."""


def settle(context: Context, organization_id: UUID, member_id: UUID, erase: Erase) -> list[Erasure] | None:
    """Forget the records that leave with a member.

    Args:
        context: Its claims are not used: the membership says which records leave.

    Returns:
        The receipts; None if there is no departure to settle.

    Raises:
        NeurigraphError: As for ``forget``; repeat the call.
    """
    values = {"organization_id": organization_id, "member_id": member_id}
    graph = context.acting_for(Claims.of_user(organization_id))
    receipts: list[Erasure] = []
    while True:
        with context.database.owner() as tx:
            if tx.execute(_QUERIES["lock_departure"], values).fetchone() is None:
                return receipts or None
            # Sources without records go at once; no step of the pipeline can store them afterwards.
            tx.execute(_QUERIES["erase_unstored"], values)
            records = [row["record_id"] for row in tx.execute(_QUERIES["records_left"], values)]
            if not records:
                tx.execute(_QUERIES["settle"], values)
                return receipts
        for record_id in records:
            try:
                receipts.append(erase(graph, ErasureSubject(SubjectKind.RECORD, record_id)))
            except NotFoundError:  # forgotten meanwhile
                continue


def close_memberships(tx: Transaction, user_id: UUID) -> None:
    """End all memberships of a user who is to be forgotten.

    Args:
        tx: A transaction of the owner.

    Raises:
        ConflictError: The user is the last owner of an organization.
    """
    row = tx.execute(_QUERIES["close_memberships"], {"user_id": user_id}).fetchone()
    if row is not None and row["last_owner_of"] is not None:
        raise ConflictError(
            f"the user is the last owner of the organization {row['last_owner_of']}: "
            "make somebody else an owner first, or delete the organization"
        )


def unsettled(tx: Transaction, member_id: UUID | None = None) -> list[tuple[UUID, UUID]]:
    """Return the departures to settle, of one member or of all, as organization and member."""
    rows = tx.execute(_QUERIES["unsettled"], {"member_id": member_id})
    return [(row["organization_id"], row["member_id"]) for row in rows]
