"""Revisions in quarantine: a record shows the result of its visible deltas, and a release shows the others again.

Each change that this takes is a delta of its own, so the history stays complete. The caller holds the graph's exclusive
lock.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import node_and_below
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.graph.locks import lock_rows
from neurigraph_pipelines.graph.moving import transfer_records
from neurigraph_pipelines.graph.revised import carry_revision, lock_words
from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.scalars import ValuesByName

_WORDS = ("title", "summary", *KEYWORD_COLUMNS.values())
_QUERIES = statements("quarantine")
_HISTORY = statements("history")
_EMBEDDINGS = statements("embeddings")


class _Record(NamedTuple):
    record_id: UUID
    node_id: UUID
    schema_name: str
    visible: ValuesByName  # the fields that visible deltas of it state

    @property
    def schema(self) -> sql.Identifier:
        return sql.Identifier(self.schema_name)


def hide_revisions(tx: Transaction, user_id: UUID, quarantine_id: UUID, rule: object) -> set[UUID]:
    """Hide the deltas that a quarantine meets, and return the nodes of the records that change.

    Args:
        rule: The rule as JSON.
    """
    values = {"quarantine_id": quarantine_id, "user_id": user_id}
    found = tx.execute(_QUERIES["hide_deltas"], {**values, "rule": rule}).fetchall()
    return _show_visible(tx, user_id, quarantine_id, {row["record_id"] for row in found})


def show_revisions(tx: Transaction, user_id: UUID, quarantine_id: UUID) -> set[UUID]:
    """Show the deltas again that only this quarantine hides, and return the nodes of the records that change."""
    found = tx.execute(_QUERIES["show_deltas"], {"quarantine_id": quarantine_id}).fetchall()
    record_ids = {row["record_id"] for row in found}
    touched = _show_visible(tx, user_id, quarantine_id, record_ids)
    tx.execute(_QUERIES["forget_vectors"], {"record_ids": list(record_ids)})
    return touched


def _show_visible(tx: Transaction, user_id: UUID, quarantine_id: UUID, record_ids: Collection[UUID]) -> set[UUID]:
    """Give records the fields that their visible deltas state, and return the nodes that this touches."""
    records = rows_of(tx, _QUERIES["visible_fields"], _Record, {"record_ids": list(record_ids)})
    lock_rows(tx, {}, {one.node_id for one in records})
    author = f"quarantine:{quarantine_id}"
    authored(tx, author)
    (model,) = tx.execute(_EMBEDDINGS["models"], {"user_id": user_id})
    for record in records:
        _show_words(tx, user_id, record, model["embedding_model"], author)
        _show_supersession(tx, record)
    touched = {one.node_id for one in records} | _show_places(tx, user_id, records, author)
    tx.execute(_QUERIES["hide_reverts"], {"record_ids": [one.record_id for one in records]})
    return touched


def _show_words(tx: Transaction, user_id: UUID, record: _Record, current_model: str | None, author: str) -> None:
    stored = lock_words(tx, record.schema, record.record_id)
    assert stored is not None
    values = {name: value for name, value in record.visible.items() if name in _WORDS}
    if stored.have(values):
        return
    of_record = {"record_id": record.record_id, "user_id": user_id, "node_id": record.node_id}
    vectors: dict[str, object] = {}
    if values.get("summary", stored.summary) != stored.summary:
        if not stored.embedding_pending:
            tx.execute(_QUERIES["keep_vector"].format(schema=record.schema), of_record)
        kept = tx.execute(
            _QUERIES["kept_vector"], {**of_record, "summary": values["summary"], "model": current_model}
        ).fetchone()
        vectors = kept or tx.execute(_QUERIES["no_vector"]).fetchone() or {}
        if kept is not None and stored.embedding_pending:
            tx.execute(_EMBEDDINGS["delete_pending"], of_record)
        if kept is None and not stored.embedding_pending:
            tx.execute(_EMBEDDINGS["insert_pending"], of_record)
    columns = {**stored._asdict(), **values, **vectors, "record_id": record.record_id}
    tx.execute(_HISTORY["revise"].format(schema=record.schema), columns)
    carry_revision(tx, user_id, record.record_id, stored, values, author)


def _show_supersession(tx: Transaction, record: _Record) -> None:
    if "superseded_by" not in record.visible:
        return
    stated = record.visible["superseded_by"]
    by = UUID(stated) if stated is not None else None
    if by is not None and not _may_supersede(tx, by, record.record_id):
        return
    values = {"record_id": record.record_id, "by": by}
    tx.execute(_HISTORY["set_superseded"].format(schema=record.schema), values)
    tx.execute(_QUERIES["set_supersessions"].format(schema=record.schema), values)


def _may_supersede(tx: Transaction, newer: UUID | None, record_id: UUID) -> bool:
    """Return whether a record exists and is not superseded by another, directly or through others."""
    if newer is None or tx.execute(_QUERIES["place"], {"record_id": newer}).fetchone() is None:
        return False
    while newer is not None:
        if newer == record_id:
            return False
        place = tx.execute(_QUERIES["place"], {"record_id": newer}).fetchone()
        row = (
            place
            and tx.execute(
                _HISTORY["superseded_by"].format(schema=sql.Identifier(place["schema_name"])), {"record_id": newer}
            ).fetchone()
        )
        newer = row["superseded_by"] if row else None
    return True


def _show_places(tx: Transaction, user_id: UUID, records: Sequence[_Record], author: str) -> set[UUID]:
    """Move records to the nodes that their visible deltas name; if the node is gone, a record stays where it is."""
    moves: dict[tuple[UUID, str, UUID], list[UUID]] = {}
    for record in records:
        target = UUID(record.visible.get("node_id") or str(record.node_id))
        if target != record.node_id:
            moves.setdefault((record.node_id, record.schema_name, target), []).append(record.record_id)
    touched: set[UUID] = set()
    for (source_id, schema_name, target_id), record_ids in sorted(moves.items()):
        found = tx.execute(_QUERIES["node"], {"user_id": user_id, "node_id": target_id}).fetchone()
        if found is None:
            continue
        lock_rows(tx, {schema_name: record_ids}, [source_id, target_id])
        former, now = (node_and_below(tx, user_id, node_id)[0] for node_id in (source_id, target_id))
        transfer_records(tx, record_ids, former, now, author)
        touched |= {source_id, target_id}
    return touched
