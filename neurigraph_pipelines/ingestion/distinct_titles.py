"""Titles that tell a record from all others of its graph, whichever model proposed them.

The database knows which titles are free, in the transaction that stores the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.limits import MAX_RECORD_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.lexemes import name_words

MAX_COUNT = 20
"""Highest number that is tried to tell titles of one day apart; beyond it a part of the record's id does."""

_MOST_SUBJECTS = 2
_QUERIES = statements("commit")


def free_titles(tx: Transaction, user_id: UUID, possible: Mapping[UUID, Sequence[str]]) -> dict[UUID, str]:
    """Return for each record the first of its titles that no other record of the graph has.

    Idempotent: a record keeps its own title.

    Args:
        tx: The transaction that writes the titles, and keeps them free until then.
        user_id: The owner of the graph.
        possible: By record what ``possible_titles`` returns.
    """
    values = {"user_id": user_id, "record_ids": list(possible), "titles": Jsonb(list(possible.values()))}
    (row,) = tx.execute(_QUERIES["free_titles"], values)
    pairs = zip(possible.items(), row["titles"], strict=True)
    return {record_id: free or titles[-1] for (record_id, titles), free in pairs}


def shortened(title: str, limit: int = MAX_RECORD_TITLE_LENGTH) -> str:
    """Return a title of at most ``limit`` characters."""
    return title if len(title) <= limit else title[: limit - 1].rstrip() + "…"


def possible_titles(record_id: UUID, title: str, subjects: Sequence[str], occurred_at: datetime) -> list[str]:
    """Return a title, then with what tells its record apart: subjects, the date, a number, and a part of the id.

    Args:
        title: The proposed title.
        subjects: Words that describe the record, the best first.
        occurred_at: When it was said.
    """
    known = set(name_words(title))
    new = [one for one in subjects if known.isdisjoint(name_words(one)) and len(one) <= 40][:_MOST_SUBJECTS]
    day = f"{occurred_at.day} {occurred_at:%B %Y}"
    described = ", ".join((*new, day))
    numbers = (f"{described}, {number}" for number in range(2, MAX_COUNT + 1))
    additions = (", ".join(new), described, *numbers, f"{described}, {record_id.hex[:12]}")
    return [title, *(_with(title, addition) for addition in additions if addition)]


def with_id(title: str, record_id: UUID) -> str:
    """Return a title with a part of the record's id, which no other title has."""
    return _with(title, record_id.hex[:12])


def _with(title: str, addition: str) -> str:
    return f"{shortened(title, MAX_RECORD_TITLE_LENGTH - len(addition) - 3)} ({addition})"
