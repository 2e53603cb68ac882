"""Receipts of erasures: ids, counts and checksums, without any erased text.

``rows`` decides which rows are erased; this module only reads and extends receipts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.erasures import ErasedObject, Erasure, ErasureWithObjects
from neurigraph_pipelines.views.erasures import SubjectKind as SubjectKind

MAX_RECEIPTS = 200
"""Most receipts in one page."""

_KEPT = ("sources", "originals")  # the hashes of ended keys beside them are for ``authenticate`` alone
_QUERIES = statements("erasure")


@dataclass(frozen=True, slots=True)
class ErasureSubject:
    """The fact, record, node or user to erase."""

    kind: SubjectKind
    subject_id: UUID


@dataclass(frozen=True, slots=True)
class ErasureState:
    """The subject and progress of an erasure, for the functions that carry it out."""

    erasure_id: UUID
    user_id: UUID
    subject: ErasureSubject
    rows_erased: bool


def add_to_receipt(
    tx: Transaction, erasure_id: UUID, erased: Mapping[str, int], kept: Mapping[str, Sequence[UUID]]
) -> None:
    """Add the counts of this transaction, erased and kept, to the receipt."""
    tx.execute(
        _QUERIES["add_to_receipt"],
        {
            "erasure_id": erasure_id,
            "erased": Jsonb({name: count for name, count in erased.items() if count}),
            "kept": Jsonb({name: sorted(map(str, kept.get(name, ()))) for name in _KEPT}),
        },
    )


def erasure(tx: Transaction, erasure_id: UUID) -> ErasureState:
    """Return the subject and progress of an erasure."""
    row = _row(tx, erasure_id)
    subject = ErasureSubject(SubjectKind(row["subject_kind"]), row["subject_id"])
    return ErasureState(erasure_id, row["user_id"], subject, row["rows_erased_at"] is not None)


def receipt(tx: Transaction, erasure_id: UUID) -> Erasure:
    """Return the receipt of one erasure."""
    return _receipt(_row(tx, erasure_id))


def receipts(
    tx: Transaction, user_id: UUID | None = None, *, limit: int = MAX_RECEIPTS, after: Position | None = None
) -> list[Erasure]:
    """Return the receipts that the transaction's role may see, newest first.

    Args:
        tx: A transaction of the pipeline, or one with claims.
        user_id: Only this user's receipts; the user may be erased.
        limit: Most receipts.
        after: Only receipts after this position: a time and an id.
    """
    at, last = after or NEWEST
    rows = tx.execute(_QUERIES["erasures"], {"user_id": user_id, "limit": limit, "at": at, "id": last})
    return [_receipt(row) for row in rows]


def page_of_receipts(asked: Listing) -> Page[Erasure]:
    """Return a page of the receipts of the caller's erasures, newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[Erasure]:
        with asked.database.agent(asked.claims) as tx:
            return receipts(tx, asked.claims.user_id, limit=most, after=after)

    return asked.page("erasures", {}, read, lambda one: (one.requested_at, one.erasure_id))


def objects_of(tx: Transaction, erasure_id: UUID) -> list[ErasedObject]:
    """Return the objects of one erasure that rows referred to."""
    return views_of(tx, _QUERIES["objects"], ErasedObject, {"erasure_id": erasure_id})


def with_objects(database: Database, found: Erasure) -> ErasureWithObjects:
    """Return a receipt with the objects of its erasure."""
    with database.pipeline() as tx:  # the claims of an erased user are no longer valid
        return ErasureWithObjects(**dict(found), objects=objects_of(tx, found.erasure_id))


def _row(tx: Transaction, erasure_id: UUID) -> DictRow:
    (row,) = tx.execute(_QUERIES["erasure"], {"erasure_id": erasure_id})
    return row


def _receipt(row: DictRow) -> Erasure:
    erased = {name: int(count) for name, count in sorted(row["erased"].items())}
    kept = {name: sorted({UUID(text) for text in ids}) for name, ids in sorted(row["kept"].items()) if name in _KEPT}
    return Erasure.model_validate({**row, "requested_at": row["w_coordinate"], "erased": erased, "kept": kept})
