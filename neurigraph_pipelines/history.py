"""The history of memories: every change is a delta, chained, authored and never changed again.

What is changed of a record's row the database appends by itself, by trigger, in the transaction of the change; a writer
only says who it is (``authored``). What is changed elsewhere, such as the node that a record lies in, is appended with
``append_delta``. Which changes there are is not for here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("history")


@dataclass(frozen=True, slots=True)
class Appended:
    """A delta, and its point on the time axis."""

    delta_id: UUID
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
