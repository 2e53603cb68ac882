"""The history of memories: every change is a delta, chained, authored and never changed again.

What is changed of a record's row the database appends by itself, by trigger, in the transaction of the change; a writer
only says who it is (``authored``). What is changed elsewhere, such as the node that a record lies in, is appended with
``append_delta``. Which changes there are is not for here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Claims
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

EVOLVING = (
    "title",
    "summary",
    *KEYWORD_COLUMNS.values(),
    "embedding_model",
    "superseded_by",
    "node_id",
    "node_path",
)
"""The fields of a memory that change; all others are as they were when it was stored."""

_QUERIES = statements("history")


@dataclass(frozen=True, slots=True)
class Appended:
    """A delta, and its point on the time axis."""

    delta_id: UUID
    w: datetime


@dataclass(frozen=True, slots=True)
class Delta:
    """One change of a memory.

    Attributes:
        operation: ``create``, ``revise``, ``embed``, ``supersede``, ``restore`` or ``move``.
        before: The fields that changed, as they were; empty for a creation. What names a node or a record that whoever
            asks may not see is None.
        after: The same fields as they are since; of a creation all that were given.
        w: Its point on the time axis: later than that of every delta before.
    """

    delta_id: UUID
    previous_delta_id: UUID | None
    operation: str
    before: dict[str, Any]
    after: dict[str, Any]
    notes: list[str]
    authored_by: str
    w: datetime


def author_of(claims: Claims) -> str:
    """Whoever asks, as the author of a delta, such as ``user:`` and an id."""
    return f"{claims.role}:{claims.sub}"


def pipeline_author(model: str) -> str:
    """The pipeline as the author of a delta, by the model that it works with."""
    return f"pipeline:{model}"


def authored(tx: Transaction, author: str) -> None:
    """Say who changes records in this transaction; no record is changed without an author."""
    tx.execute(_QUERIES["set_author"], {"author": author})


def append_delta(
    tx: Transaction,
    record_id: UUID,
    before: Mapping[str, object],
    after: Mapping[str, object],
    author: str,
    *,
    operation: str,
    notes: Sequence[str] = (),
) -> Appended:
    """Append what this transaction changes of a record where its row does not show it.

    Whoever appends has the record's chain until the transaction ends: concurrent writers take turns.

    Args:
        tx: Of the pipeline or the owner.
        record_id: Stands in ``record_index``.
        before: The fields that change, with their values until now, as JSON has them (ids as text).
        after: The same fields with their values from now on.
        author: Of ``author_of`` or ``pipeline_author``.
        operation: Such as ``create`` or ``move``.
        notes: Anything worth telling beside it.
    """
    row = tx.execute(
        _QUERIES["append_delta"],
        {
            "record_id": record_id,
            "operation": operation,
            "before": Jsonb(dict(before)),
            "after": Jsonb(dict(after)),
            "author": author,
            "notes": Jsonb(list(notes)),
        },
    ).fetchone()
    assert row is not None
    return Appended(row["delta_id"], row["w"])


def record_at(database: Database, claims: Claims, record_id: UUID, at: datetime | None = None) -> dict[str, Any]:
    """A memory as it was at a moment; None for now.

    Walked back from the present: what each later delta replaced is put back. Of its files, and of the names on the path
    to its node, there is only the present. ``delta_id`` is the delta that made this version, and ``w`` its point in
    time.

    Raises:
        NotFoundError: No such record, not visible to whoever asks, or not stored yet at that moment; and to third
            parties the past of any.
    """
    (row,) = database.ask(claims, _QUERIES["record_at"], {"record_id": record_id, "at": at})
    found: dict[str, Any] | None = row["found"]
    if found is None:
        raise NotFoundError
    return {**found, "embedding_pending": found["embedding_model"] is None}


def history(database: Database, claims: Claims, record_id: UUID, *, limit: int = 50, offset: int = 0) -> list[Delta]:
    """The deltas of a memory, newest first.

    Raises:
        NotFoundError: No such record, or not visible to whoever asks; to third parties no history is.
    """
    found = database.ask(claims, _QUERIES["history"], {"record_id": record_id, "limit": limit, "offset": offset})
    if not found and offset == 0:
        raise NotFoundError
    return [Delta(**row) for row in found]


def diff(
    database: Database, claims: Claims, record_id: UUID, w1: datetime, w2: datetime | None = None
) -> dict[str, dict[str, Any]]:
    """What changed of a memory from one moment to another, either way round; None for now.

    Returns:
        By field, its value ``before`` and ``after``: None where the memory was not stored yet.

    Raises:
        NotFoundError: As of ``history``.
    """
    history(database, claims, record_id, limit=1)
    before, after = (_state_at(database, claims, record_id, moment) for moment in (w1, w2))
    return {
        field: {"before": before[field], "after": after[field]} for field in EVOLVING if before[field] != after[field]
    }


def values_then(tx: Transaction, record_ids: Sequence[UUID], at: datetime) -> dict[UUID, dict[str, Any]]:
    """By record, those of its fields that had other values at a moment than now."""
    found = tx.execute(_QUERIES["values_then"], {"record_ids": list(record_ids), "at": at})
    return {row["record_id"]: row["earlier"] for row in found}


def superseded_of(tx: Transaction, record_ids: Sequence[UUID], at: datetime | None = None) -> set[UUID]:
    """Those of some records that others have taken the place of, now or at a moment."""
    found = tx.execute(_QUERIES["superseded_of"], {"record_ids": list(record_ids), "at": at})
    return {row["record_id"] for row in found if row["superseded"]}


def _state_at(database: Database, claims: Claims, record_id: UUID, at: datetime | None) -> dict[str, Any]:
    try:
        return record_at(database, claims, record_id, at)
    except NotFoundError:  # not stored yet
        return dict.fromkeys(EVOLVING)
