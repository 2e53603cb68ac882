"""Marks of memories that were stored without an enrichment, because a defect kept it from being made.

The mark is the author of the newest delta of a memory's words. ``resummarize`` makes what is missing and ends the mark;
a person who revises the words ends it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import append_delta, pipeline_author
from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.ports import Database, Transaction

UNFINISHED = pipeline_author("unfinished")
"""The author of words that lack something."""

REMEDY = (
    "`neurigraph admin resummarize --user NAME` makes what is missing once the defect is mended (docs/reliability.md)"
)

_QUERIES = statements("history")
_WORDS = ("title", *KEYWORD_COLUMNS.values())


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A memory that was stored without some enrichments.

    Attributes:
        left_out: The missing values, with the class of the error, such as ``filing (KeyError)``.
        since: When it was marked.
    """

    record_id: UUID
    user_id: UUID
    left_out: str
    since: datetime


def count_unfinished(database: Database, user_id: UUID | None = None) -> int:
    """Count the memories that lack enrichments, of a user or of all."""
    with database.pipeline() as tx:
        return value_of(int, tx.execute(_QUERIES["count_unfinished"], {"author": UNFINISHED, "user_id": user_id}))


def list_unfinished(database: Database, limit: int) -> list[Unfinished]:
    """Return the memories that lack enrichments, those first that have waited longest."""
    with database.pipeline() as tx:
        rows = tx.execute(_QUERIES["unfinished"], {"author": UNFINISHED, "limit": limit}).fetchall()
    return [Unfinished(**row) for row in rows]


def mark_unfinished(tx: Transaction, record_id: UUID, row: Mapping[str, object], left_out: Sequence[str]) -> None:
    """Mark a stored memory, in the transaction that stores it.

    Args:
        row: Its title and keywords, by column.
        left_out: The missing values.
    """
    _append(tx, record_id, row, UNFINISHED, left_out)


def end_mark(tx: Transaction, record_id: UUID, row: Mapping[str, object], author: str) -> None:
    """End the mark of a memory, whose words ``author`` has made again."""
    _append(tx, record_id, row, author, ())


def _append(tx: Transaction, record_id: UUID, row: Mapping[str, object], author: str, notes: Sequence[str]) -> None:
    words = {name: row[name] for name in _WORDS}
    append_delta(tx, record_id, words, words, author, operation="revise", notes=notes)
