"""The conditions of storing parts of a source: its privacy and tier, quarantines, and the parts stored already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import typed
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import SegmentRef
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("commit")


class Conditions(NamedTuple):
    """What decides how one part of a source is stored.

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
    tx: Transaction, ref: SegmentRef, parts: Sequence[tuple[int, int, bytes | None]]
) -> Callable[[], list[Conditions]]:
    """Ask for the conditions of parts of a segment's source; the result waits for them.

    Args:
        tx: A transaction of the pipeline that has locked the graph.
        ref: The segment.
        parts: First and last message of each, and the digest of its content.
    """
    first, last, hashes = zip(*parts, strict=True)
    values = {"first_messages": list(first), "last_messages": list(last), "content_hashes": list(hashes)}
    asked = tx.execute(_QUERIES["conditions"], {"user_id": ref.user_id, "source_id": ref.source_id, **values})
    return lambda: typed(asked, Conditions)
