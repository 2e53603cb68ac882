"""Purging the archive: records that have been there for long enough are forgotten, each with a receipt."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.retention import Purge

MAX_PURGED = 1_000
"""Most records of one call."""

_QUERIES = statements("retention")


class _StillArchived(Guard):
    """Lets an erasure begin only if the record is still in the archive, and has been for as long."""

    def __init__(self, record_id: UUID, before: datetime) -> None:
        self._values = {"record_id": record_id, "before": before}

    def admit(self, tx: Transaction) -> None:
        """Look at the archive, with the graph locked.

        Raises:
            NotFoundError: The record was restored.
        """
        require_found(tx.execute(_QUERIES["is_purgeable"], self._values).fetchone())


def purge(
    context: Context, older_than: timedelta, *, through: str, dry_run: bool = False, limit: int = MAX_PURGED
) -> Purge:
    """Forget, for good, the records that have been in the archive for longer than a time.

    Args:
        through: The interface of the request, for the receipts.
        dry_run: Count, and change nothing.
        limit: Most records of this call.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The time is negative.
    """
    require_owner(context.claims)
    if older_than < timedelta():
        raise InvalidInputError("the age of what is purged cannot be negative")
    with context.database.owner() as tx:
        values = {"user_id": context.claims.user_id, "seconds": older_than.total_seconds(), "limit": limit}
        found = tx.execute(_QUERIES["purgeable"], values).fetchall()
    counted = found[0]["counted"] if found else 0
    if dry_run:
        return Purge(dry_run=True, record_count=counted, erasure_ids=[], failed=[], left=0)
    erasure_ids: list[UUID] = []
    failed: list[UUID] = []
    gone = 0
    for row in found:
        record_id, guard = row["record_id"], _StillArchived(row["record_id"], row["before"])
        try:
            receipt = forget(context, ErasureSubject(SubjectKind.RECORD, record_id), through=through, guard=guard)
            erasure_ids.append(receipt.erasure_id)
        except NotFoundError:  # restored, or erased, meanwhile
            gone += 1
        except NeurigraphError:
            failed.append(record_id)
    left = counted - len(found)
    return Purge(dry_run=False, record_count=counted - gone, erasure_ids=erasure_ids, failed=failed, left=left)
