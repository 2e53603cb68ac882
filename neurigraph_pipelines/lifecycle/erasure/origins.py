"""Traces of erased records in the records that they were split from: words in deltas, and objects of before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.erasure.journal import JournalEntry
from neurigraph_pipelines.lifecycle.orphans import keys_in_use
from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("splitting")
_LIFECYCLE = statements("lifecycle")
_WORDS = ["title", "summary", *KEYWORD_COLUMNS.values()]


def with_origins(tx: Transaction, user_id: UUID, record_ids: frozenset[UUID]) -> frozenset[UUID]:
    """Return some records with the records that they were split from."""
    return record_ids | {row["record_id"] for row in _origins(tx, user_id, record_ids)}


def erase_traces(
    tx: Transaction, user_id: UUID, record_ids: Sequence[UUID], strays: Mapping[UUID, Sequence[str]]
) -> Iterator[JournalEntry]:
    """Erase the words of records from the history of the records that they were split from.

    Args:
        tx: A transaction of the owner that may erase.
        record_ids: The records that are erased.
        strays: The keys of all objects of their origins.

    Yields:
        Objects of the origins that have no row: a process that died after a split has left them.
    """
    origins = {row["record_id"]: row["moment"] for row in _origins(tx, user_id, record_ids)}
    for record_id, moment in origins.items():
        tx.execute(_QUERIES["erase_words_before"], {"record_id": record_id, "moment": moment, "words": _WORDS})
    if origins:
        used = keys_in_use(tx, _LIFECYCLE["files_of_records"], origins)
        yield from (JournalEntry(key) for one in origins for key in strays.get(one, ()) if key not in used)


def _origins(tx: Transaction, user_id: UUID, record_ids: Sequence[UUID] | frozenset[UUID]) -> list[DictRow]:
    values = {"user_id": user_id, "record_ids": list(map(str, record_ids))}
    return tx.execute(_QUERIES["origins_of_records"], values).fetchall()
