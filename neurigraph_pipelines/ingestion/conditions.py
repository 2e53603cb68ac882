"""The conditions of storing parts of a source: its privacy and tier, quarantines, and the parts stored already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import typed
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("commit")


class Conditions(NamedTuple):
    """The conditions that decide how one part of a source is stored.

    Attributes:
        tier: The tier that the source was handed in with.
        quarantines: The quarantines in force that it meets.
        record_id: The record with the same content, if there is one.
        created_at: When that was stored; otherwise now.
    """

    private: bool
    tier: str | None
    quarantines: list[UUID]
    record_id: UUID | None
    created_at: datetime


def conditions_of(
    tx: Transaction, user_id: UUID, parts: Sequence[tuple[UUID, int, int, bytes | None]]
) -> Callable[[], list[Conditions]]:
    """Ask for the conditions of parts of sources; the result waits for them.

    Args:
        tx: A transaction of the pipeline that has locked the graph.
        user_id: Whose sources they are.
        parts: The source of each, its first and last message, and the digest of its content.
    """
    names = ("source_ids", "first_messages", "last_messages", "content_hashes")
    columns = dict(zip(names, map(list, zip(*parts, strict=True)), strict=True))
    asked = tx.execute(_QUERIES["conditions"], {"user_id": user_id, **columns})
    return lambda: typed(asked, Conditions)
