"""What an answer says of the messages that it quotes: what they state was updated, or is contradicted, and by what.

Both statements are given with their days. The verdicts come from ``knowledge``; the database shows those of which the
caller sees both sides.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.model.verdicts import Effect, Verdict
from neurigraph_pipelines.statements import statements

MOST = 5
"""Most conflicts that one answer names."""

SURE = 0.8
"""Least confidence of a conflict that waits for a person."""

_QUERIES = statements("verdicts")


def notes_of(context: Context, quoted: Iterable[tuple[str, int]]) -> list[str]:
    """Return a sentence for each conflict of what some messages state.

    Args:
        quoted: Ids of records, with numbers of their messages.
    """
    places = list(dict.fromkeys(quoted))
    if not places:
        return []
    values = {
        "record_ids": [UUID(record_id) for record_id, _ in places],
        "messages": [message for _, message in places],
        "least": SURE,
        "most": MOST,
    }
    return [_note(row) for row in context.database.ask(context.claims, _QUERIES["about_messages"], values)]


def _note(row: dict[str, Any]) -> str:
    earlier = _said(row["earlier_said_at"], row["earlier_statement"])
    later = _said(row["later_said_at"], row["later_statement"])
    if row["effect"] == Effect.SUPERSEDES:
        return f"Superseded: {earlier}; since then {later}."
    if row["effect"] == Effect.DISPUTES:
        return f"Disputed: {earlier}, but {later}."
    word = "Perhaps outdated" if row["verdict"] == Verdict.UPDATES else "Perhaps contradicted"
    return f"{word}: {earlier}; {later}."


def _said(day: datetime, statement: str) -> str:
    return f"{day:%Y-%m-%d} “{statement.rstrip('.')}”"
