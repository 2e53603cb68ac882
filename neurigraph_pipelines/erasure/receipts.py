"""What was forgotten, as it is told: ids, counts and checksums, and none of the text.

Reading and adding up only; what is erased is decided in ``rows``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

MAX_RECEIPTS = 200
"""Most receipts in one page."""

_QUERIES = statements("erasure")


class SubjectKind(StrEnum):
    """What can be forgotten."""

    RECORD = "record"
    NODE = "node"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be forgotten."""

    kind: SubjectKind
    subject_id: UUID


@dataclass(frozen=True, slots=True)
class Receipt:
    """One erasure.

    Attributes:
        user_id: Whose it was, and who asked for it.
        requested_through: The face that it was asked for through.
        w: When it was asked for.
        finished_at: When the last row and the last object were gone; None while some are left.
        erased: How many of what; ``object_bytes`` are those of the objects.
        kept: Ids of what stays because something else needs it: ``sources`` with other records, or with something
            that is not stored yet, and ``originals`` of uploads of which other parts remain.
    """

    erasure_id: UUID
    user_id: UUID
    subject_kind: SubjectKind
    subject_id: UUID
    requested_through: str
    w: datetime
    finished_at: datetime | None
    erased: dict[str, int]
    kept: dict[str, list[UUID]]


@dataclass(frozen=True, slots=True)
class ErasedObject:
    """One object that was on record; ``sha256`` is of the bytes as they lay in the store, in hex."""

    sha256: str | None
    size_bytes: int
    removed: bool


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure under way, as those who carry it out know it."""

    erasure_id: UUID
    user_id: UUID
    subject: Subject
    rows_erased: bool


def add_to_receipt(
    tx: Transaction, erasure_id: UUID, erased: Mapping[str, int], kept: Mapping[str, Sequence[UUID]]
) -> None:
    """Put on the receipt what this transaction erases and keeps."""
    tx.execute(
        _QUERIES["add_to_receipt"],
        {
            "erasure_id": erasure_id,
            "erased": Jsonb({name: count for name, count in erased.items() if count}),
            "kept": Jsonb({name: sorted(map(str, kept.get(name, ()))) for name in ("sources", "originals")}),
        },
    )


def erasure(tx: Transaction, erasure_id: UUID) -> Erasure:
    """What there is to do, or was done."""
    row = _row(tx, erasure_id)
    subject = Subject(SubjectKind(row["subject_kind"]), row["subject_id"])
    return Erasure(erasure_id, row["user_id"], subject, row["rows_erased_at"] is not None)


def receipt(tx: Transaction, erasure_id: UUID) -> Receipt:
    """The receipt of one erasure."""
    return _receipt(_row(tx, erasure_id))


def receipts(
    tx: Transaction, user_id: UUID | None = None, *, limit: int = MAX_RECEIPTS, offset: int = 0
) -> list[Receipt]:
    """Receipts that the transaction's role may see, newest first.

    Args:
        tx: Of the pipeline, or of a face with claims.
        user_id: Only this user's, who may be gone.
        limit: Most receipts.
        offset: How many to pass over.
    """
    rows = tx.execute(_QUERIES["erasures"], {"user_id": user_id, "limit": limit, "offset": offset})
    return [_receipt(row) for row in rows]


def objects_of(tx: Transaction, erasure_id: UUID) -> list[ErasedObject]:
    """The objects of one erasure that were on record."""
    return [ErasedObject(**row) for row in tx.execute(_QUERIES["objects"], {"erasure_id": erasure_id})]


def _row(tx: Transaction, erasure_id: UUID) -> dict[str, Any]:
    row = tx.execute(_QUERIES["erasure"], {"erasure_id": erasure_id}).fetchone()
    assert row is not None
    return row


def _receipt(row: Mapping[str, Any]) -> Receipt:
    return Receipt(
        row["erasure_id"],
        row["user_id"],
        SubjectKind(row["subject_kind"]),
        row["subject_id"],
        row["requested_through"],
        row["w_coordinate"],
        row["finished_at"],
        {name: int(count) for name, count in sorted(row["erased"].items())},
        {name: sorted({UUID(each) for each in ids}) for name, ids in sorted(row["kept"].items())},
    )
