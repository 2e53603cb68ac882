"""The history of memories: every change is a delta with an author, linked to the previous one and never changed.

A trigger appends the changes of a record's row in the transaction of the change; the writer only names itself with
``authored``. Changes elsewhere, such as the node of a record, are appended with ``append_delta``. Other modules make
the changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.paging import NEWEST, Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Claims
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.memories import Change, Delta, Difference, Memory
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.views.sources import Provenance

EVOLVING = (
    "title",
    "summary",
    *KEYWORD_COLUMNS,
    "embedding_model",
    "superseded_by",
    "tier",
    "node_id",
    "node_path",
)
"""The fields of a memory that can change after it was stored."""

_QUERIES = statements("history")
_FIELDS = {column: name for name, column in KEYWORD_COLUMNS.items()} | {"compression_state": "file_state"}
"""The fields of a memory whose columns have other names."""


def author_of(claims: Claims) -> str:
    """Return the caller as the author of a delta, such as ``user:`` and an id."""
    return f"{'user' if claims.acts_for_owner else claims.role}:{claims.sub}"


def pipeline_author(model: str) -> str:
    """Return the pipeline as the author of a delta, with the model that it uses."""
    return f"pipeline:{model}"


def authored(tx: Transaction, author: str, caller: Claims | None = None) -> None:
    """Set the author of all changes to records in this transaction. Changes without an author fail.

    Args:
        caller: Whose change it is, for its key; None for jobs.

    Raises:
        ForbiddenError: What the caller writes now is in quarantine.
    """
    of_caller = {
        "key_id": caller.key_id if caller is not None else None,
        "user_id": caller.user_id if caller is not None else None,
    }
    row = tx.execute(_QUERIES["set_author"], {"author": author, **of_caller}).fetchone()
    if row is not None and row["is_held"]:
        raise ForbiddenError(
            "what this key writes is in quarantine and changes no memory: the owner of the graph can release it"
        )


def append_delta(
    tx: Transaction,
    record_id: UUID,
    before: Mapping[str, object],
    after: Mapping[str, object],
    author: str,
    *,
    operation: str,
    notes: Sequence[str] = (),
) -> None:
    """Append a change of a record that its row does not show.

    This locks the record's chain of deltas until the transaction ends, so concurrent writers take turns.

    Args:
        tx: A transaction of the pipeline or the owner.
        record_id: A record in ``record_index``.
        before: The changed fields with their old values, as in JSON (ids as text).
        after: The same fields with their new values.
        author: From ``author_of`` or ``pipeline_author``.
        operation: Such as ``create`` or ``move``.
        notes: Remarks to store with the delta.
    """
    tx.execute(
        _QUERIES["append_delta"],
        {
            "record_id": record_id,
            "operation": operation,
            "before": Jsonb(dict(before)),
            "after": Jsonb(dict(after)),
            "author": author,
            "notes": Jsonb(list(notes)),
        },
    )


def record_at(database: Database, claims: Claims, record_id: UUID, at: datetime | None = None) -> Memory:
    """Return a memory as it was at a moment; None for now.

    Starts from the present and undoes each later delta. Files, and the names on the path to the node, are always the
    current ones.

    Raises:
        NotFoundError: There is no such record, the caller may not see it, or it was not stored yet at that moment.
            Third parties never see a past version.
    """
    (row,) = database.ask(claims, _QUERIES["record_at"], {"record_id": record_id, "at": at})
    if row["found"] is None:
        raise NotFoundError
    found = _by_field(row["found"])
    return Memory(
        **{
            **found,
            "embedding_pending": found["embedding_model"] is None,
            "source": Provenance.of(found["source_kind"], found["source"]),
            "changed_at": found["w"],
        }
    )


def history(
    database: Database, claims: Claims, record_id: UUID, *, limit: int = 50, after: Position | None = None
) -> list[Delta]:
    """Return the deltas of a memory, newest first; only those after a position, the time of a delta.

    Raises:
        NotFoundError: There is no such record, or the caller may not see it. Third parties see no history.
    """
    (before,) = after or NEWEST[:1]
    found = database.ask(claims, _QUERIES["history"], {"record_id": record_id, "limit": limit, "before": before})
    if not found and after is None:
        raise NotFoundError
    return [
        Delta(**{**row, "before": _by_field(row["before"]), "after": _by_field(row["after"]), "changed_at": row["w"]})
        for row in found
    ]


def page_of_history(asked: Listing, record_id: UUID) -> Page[Delta]:
    """Return a page of the deltas of a memory, newest first.

    Raises:
        NotFoundError: As for ``history``.
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[Delta]:
        return history(asked.database, asked.claims, record_id, limit=most, after=after)

    return asked.page("history", {"record_id": record_id}, read, lambda one: (one.changed_at,))


def diff(database: Database, claims: Claims, record_id: UUID, w1: datetime, w2: datetime | None = None) -> Difference:
    """Compare a memory at two moments, in either order; None for now.

    Raises:
        NotFoundError: As for ``history``.
    """
    history(database, claims, record_id, limit=1)
    before, after = (_state_at(database, claims, record_id, moment) for moment in (w1, w2))
    changes = {name: Change(before=getattr(before, name, None), after=getattr(after, name, None)) for name in EVOLVING}
    return Difference(
        record_id=record_id, changes={name: one for name, one in changes.items() if one.before != one.after}
    )


def values_then(tx: Transaction, record_ids: Sequence[UUID], at: datetime) -> dict[UUID, ValuesByName]:
    """Return for each record the fields that had other values at a moment than now, with those values."""
    found = tx.execute(_QUERIES["values_then"], {"record_ids": list(record_ids), "at": at})
    return {row["record_id"]: row["earlier"] for row in found}


def superseded_of(tx: Transaction, record_ids: Sequence[UUID], at: datetime | None = None) -> set[UUID]:
    """Return the records that others have replaced, now or at a moment."""
    found = tx.execute(_QUERIES["superseded_of"], {"record_ids": list(record_ids), "at": at})
    return {row["record_id"] for row in found if row["superseded"]}


def _state_at(database: Database, claims: Claims, record_id: UUID, at: datetime | None) -> Memory | None:
    try:
        return record_at(database, claims, record_id, at)
    except NotFoundError:  # not stored yet
        return None


def _by_field(found: ValuesByName) -> ValuesByName:
    return {_FIELDS.get(name, name): value for name, value in found.items()}
