"""Making digests: the content of some records, in a few sentences, by the language model.

Belongs here: which records a digest covers, its text, and the sweep over windows. ``digests`` reads and removes them.
The model is called without a lock; the digest is written only if its records are unchanged by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid5

from psycopg import sql

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.model import Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import (
    ChangedError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
    ProviderError,
    require_found,
)
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import storable

DAYS = (7, 30, 90)
"""Lengths of windows; they begin at multiples of their length since 1970-01-01 UTC."""

FACTS = 50
"""Facts that a window gains before it is put into words, though it has not ended."""

MOST_COVERED = 200
"""Most records of one digest: of more, those of the greatest importance."""

MOST_WINDOWS = 500
"""Default limit of windows per run."""

LEAST_COVERED = 2

_ON_REQUEST_DAYS = 30
_NAMESPACE = UUID("5d0c1c1e-9a3f-5a52-8f0e-0d3c6f0b7d11")
_MAX_TITLE, _MAX_TEXT = 200, 8_000
_QUERIES = statements("digests")


@dataclass(frozen=True, slots=True)
class Window:
    """The records of a node within some days, private ones included or not."""

    node_id: UUID
    user_id: UUID
    days: int
    starts_at: datetime
    covers: str = "shared"

    @property
    def ends_at(self) -> datetime:
        """The moment after its last."""
        return self.starts_at + timedelta(days=self.days)

    @property
    def key(self) -> dict[str, object]:
        """The values that identify it."""
        return {
            "node_id": self.node_id,
            "user_id": self.user_id,
            "days": self.days,
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "covers": self.covers,
        }


@dataclass(frozen=True, slots=True)
class _Covered:
    """The material of a digest."""

    record_ids: tuple[UUID, ...]
    parts: tuple[Summary, ...]
    records: int
    facts: int


@dataclass(slots=True)
class Digested:
    """The result of a run.

    Attributes:
        windows: Windows that were due.
        written: Digests that were written.
        changed: Windows whose records changed meanwhile; they are due again.
        failed: Windows that could not be put into words, with the class of the error.
        limit_reached: Whether more windows may be due.
    """

    windows: int = 0
    written: int = 0
    changed: int = 0
    failed: list[tuple[Window, str]] = field(default_factory=list)
    limit_reached: bool = False


def window_at(node_id: UUID, user_id: UUID, days: int, moment: datetime, covers: str = "shared") -> Window:
    """Return the window of a node that a moment is in."""
    length = days * 86_400
    start = moment.timestamp() // length * length
    return Window(node_id, user_id, days, datetime.fromtimestamp(start, UTC), covers)


def sweep(
    context: Context,
    limit: int = MOST_WINDOWS,
    user_id: UUID | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Digested:
    """Put the windows into words that are due. One that fails is tried again later, and holds up no other.

    Args:
        context: The language model and the database.
        limit: Maximum number of windows.
        user_id: Only this user's windows.
        on_done: Called with 1 after each window.
    """
    done = Digested()
    with context.database.pipeline() as tx:
        values = {"user_id": user_id, "facts": FACTS, "limit": limit}
        due = tx.execute(_QUERIES["due"], values).fetchall()
    for row in due:
        window = Window(row["node_id"], row["user_id"], row["days"], row["starts_at"], row["covers"])
        done.windows += 1
        try:
            digest_window(context, window)
            done.written += 1
        except (ChangedError, NotFoundError):
            done.changed += 1
        except Exception as error:  # a defect, too
            if not isinstance(error, NeurigraphError):
                leave_out("digest", error)
            done.failed.append((window, type(error).__name__))
            _note_failure(context, window, type(error).__name__)
        if on_done is not None:
            on_done(1)
    done.limit_reached = len(due) == limit
    return done


def digest_window(context: Context, window: Window, guard: Guard = FREE) -> UUID:
    """Put a window into words, in place of the digest that it has.

    Raises:
        NotFoundError: The node is gone, or has no two records there.
        ChangedError: Its records changed meanwhile: try again.
        ProviderError: The language model failed.
        TransientError: It may succeed later.
    """
    with context.database.pipeline() as tx:
        covered = _of_window(tx, window)
    digest_id = uuid5(_NAMESPACE, f"{window.node_id} {window.days} {window.starts_at.isoformat()} {window.covers}")
    title, text = _worded(context, covered.parts)
    with context.database.pipeline() as tx:
        lock_graph_exclusive(tx, window.user_id)
        guard.admit(tx)
        if _of_window(tx, window) != covered:
            raise ChangedError("these memories changed while they were put into words: try again")
        _write(tx, digest_id, {**window.key, "title": title, "text": text}, covered, context.language_model.name)
        tx.execute(_QUERIES["end_failure"], window.key)
        guard.note_result(tx)
    return digest_id


def digest_around(context: Context, record_id: UUID, guard: Guard = FREE) -> UUID:
    """Put the shared records of a record's node, of the 30 days around it, into words.

    Raises:
        NotFoundError: The record is gone, or the window has no second one; otherwise as ``digest_window``.
    """
    user_id = context.claims.user_id
    with context.database.pipeline() as tx:
        found = tx.execute(_QUERIES["window_of_record"], {"record_id": record_id, "user_id": user_id}).fetchone()
    if found is None:
        raise NotFoundError
    return digest_window(context, window_at(found["node_id"], user_id, _ON_REQUEST_DAYS, found["at"]), guard)


def digest_of_records(context: Context, record_ids: Sequence[UUID], guard: Guard = FREE) -> UUID:
    """Put some memories into words, as the owner of their graph. The same memories again give the same digest.

    Raises:
        InvalidInputError: Fewer than two memories, or more than ``MOST_COVERED``.
        NotFoundError: One of them does not exist, is hidden or was superseded.
        ChangedError: They changed meanwhile: try again.
    """
    wanted = sorted(set(record_ids))
    if not LEAST_COVERED <= len(wanted) <= MOST_COVERED:
        raise InvalidInputError(f"a digest covers {LEAST_COVERED} to {MOST_COVERED} memories: name so many")
    user_id = context.claims.user_id
    digest_id = uuid5(_NAMESPACE, " ".join(map(str, wanted)))
    with context.database.pipeline() as tx:
        covered = _named(tx, user_id, wanted)
        if _exists(tx, user_id, digest_id):
            return digest_id
    title, text = _worded(context, covered.parts)
    with context.database.pipeline() as tx:
        lock_graph_exclusive(tx, user_id)
        guard.admit(tx)
        if _named(tx, user_id, wanted) != covered:
            raise ChangedError("these memories changed while they were put into words: try again")
        window = {"user_id": user_id, "node_id": None, "days": None, "starts_at": None, "ends_at": None}
        values = {**window, "covers": "all", "title": title, "text": text}
        _write(tx, digest_id, values, covered, context.language_model.name)
        guard.note_result(tx)
    return digest_id


class _CoveredRecord(NamedTuple):
    """A record that a digest covers, with numbers of records and facts: of its whole window, or its own if named."""

    record_id: UUID
    title: str
    summary: str
    at: datetime
    records: int
    facts: int


def _of_window(tx: Transaction, window: Window) -> _Covered:
    node = require_found(tx.execute(_QUERIES["node_of_window"], window.key).fetchone())
    query = _QUERIES["window_records"].format(schema=sql.Identifier(node["schema_name"]))
    rows = rows_of(tx, query, _CoveredRecord, {**window.key, "most": MOST_COVERED})
    if len(rows) < LEAST_COVERED:
        raise NotFoundError
    return _covered(rows, rows[0].records, rows[0].facts)


def _named(tx: Transaction, user_id: UUID, wanted: Sequence[UUID]) -> _Covered:
    places = tx.execute(_QUERIES["places"], {"record_ids": list(wanted), "user_id": user_id}).fetchall()
    if len(places) != len(wanted):
        raise NotFoundError
    rows: list[_CoveredRecord] = []
    for schema in dict.fromkeys(place["schema_name"] for place in places):
        query = _QUERIES["named_records"].format(schema=sql.Identifier(schema))
        rows += rows_of(tx, query, _CoveredRecord, {"record_ids": list(wanted)})
    rows.sort(key=lambda row: (row.at, row.record_id))
    return _covered(rows, len(rows), sum(row.facts for row in rows))


def _covered(rows: Sequence[_CoveredRecord], records: int, facts: int) -> _Covered:
    parts = tuple(Summary(f"{row.title} ({row.at:%Y-%m-%d})", row.summary) for row in rows)
    return _Covered(tuple(row.record_id for row in rows), parts, records, facts)


def _worded(context: Context, parts: Sequence[Summary]) -> tuple[str, str]:
    """Return a title and a text, neither of them empty."""
    merged = storable(context.language_model.merge(parts, context.settings.ingestion.summary_words))
    title, text = " ".join(merged.title.split())[:_MAX_TITLE], merged.text.strip()[:_MAX_TEXT]
    if not text or not title:
        raise ProviderError(f"{context.language_model.name} returned an empty digest")
    return title, text


def _write(tx: Transaction, digest_id: UUID, values: Mapping[str, object], covered: _Covered, model: str) -> None:
    row = {**values, "digest_id": digest_id, "records": covered.records, "facts": covered.facts, "made_by": model}
    tx.execute(_QUERIES["remove"], row)
    tx.execute(_QUERIES["write"], row)
    tx.execute(_QUERIES["cover"], {**row, "record_ids": list(covered.record_ids)})


def _exists(tx: Transaction, user_id: UUID, digest_id: UUID) -> bool:
    found = tx.execute(_QUERIES["exists"], {"user_id": user_id, "digest_id": digest_id}).fetchone()
    return found is not None


def _note_failure(context: Context, window: Window, error: str) -> None:
    with context.database.pipeline() as tx:
        if tx.execute(_QUERIES["node_of_window"], window.key).fetchone() is not None:
            tx.execute(_QUERIES["fail"], {**window.key, "error": error})
