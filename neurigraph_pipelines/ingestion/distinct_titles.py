"""Titles that tell a record from all others of its graph, whichever model proposed them.

The database knows which titles are free, in the transaction that stores the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.limits import MAX_RECORD_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.lexemes import name_words

MAX_COUNT = 20
"""Highest number that is tried to tell titles of one day apart; beyond it a part of the record's id does."""

_MOST_SUBJECTS = 2
_QUERIES = statements("commit")


def distinct_title(
    tx: Transaction, user_id: UUID, record_id: UUID, title: str, subjects: Sequence[str], occurred_at: datetime
) -> str:
    """Return ``title``, with words that tell the record apart if another record of the graph has the same title.

    Idempotent: a record keeps its own title.

    Args:
        tx: The transaction that writes the title, and keeps it free until then.
        user_id: The owner of the graph.
        record_id: The record.
        title: The proposed title.
        subjects: Words that describe the record, the best first.
        occurred_at: When it was said.
    """
    titles = list(_titles(title, record_id, subjects, occurred_at))
    values = {"user_id": user_id, "record_id": record_id, "titles": titles}
    row = tx.execute(_QUERIES["free_title"], values).fetchone()
    return str(row["title"]) if row is not None and row["title"] is not None else titles[-1]


def shortened(title: str, limit: int = MAX_RECORD_TITLE_LENGTH) -> str:
    """Return a title of at most ``limit`` characters."""
    return title if len(title) <= limit else title[: limit - 1].rstrip() + "…"


def _titles(title: str, record_id: UUID, subjects: Sequence[str], occurred_at: datetime) -> Iterator[str]:
    """Yield the title, then with subjects, with subjects and date, with a number, and with a part of the id."""
    known = set(name_words(title))
    new = [one for one in subjects if known.isdisjoint(name_words(one)) and len(one) <= 40][:_MOST_SUBJECTS]
    day = f"{occurred_at.day} {occurred_at:%B %Y}"
    yield title
    if new:
        yield _with(title, ", ".join(new))
    described = ", ".join((*new, day))
    yield _with(title, described)
    for number in range(2, MAX_COUNT + 1):
        yield _with(title, f"{described}, {number}")
    yield _with(title, f"{described}, {record_id.hex[:12]}")


def with_id(title: str, record_id: UUID) -> str:
    """Return a title with a part of the record's id, which no other title has."""
    return _with(title, record_id.hex[:12])


def _with(title: str, addition: str) -> str:
    return f"{shortened(title, MAX_RECORD_TITLE_LENGTH - len(addition) - 3)} ({addition})"
