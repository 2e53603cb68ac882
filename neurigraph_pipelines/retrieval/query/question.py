"""A question as a caller asks it, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.model import SourceKind

MAX_QUERY_CHARACTERS = 4_000
MAX_LIMIT = 200
MAX_MESSAGE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question as a caller asks it; ``parse`` checks it.

    Attributes:
        limit: Most records.
        message_limit: Most single messages.
        node_id: Search only this node and what lies below it.
        at: Only memories that were known at this moment, with the title and summary of that time.
        explain: Return every component of the scores, and what moved the ranking.
        occurred_after: Only what happened then or later.
        occurred_before: Only what happened before then.
        source_kinds: Only sources of these kinds; empty for all.
        speaker: Only messages by this speaker, in any case, and the records that hold one.
        periods: Stretches of time that the question names, start included and end not: what happened in one of them
            ranks higher, and nothing is left out.
        include_superseded: Also memories that newer ones replaced.
        record_ids: Only these memories; empty for all. What else decides which nodes are searched stays as it is.
        include_facts: Also return facts, as many as records at most.
    """

    query: str
    limit: int = 10
    message_limit: int = 50
    node_id: UUID | None = None
    at: datetime | None = None
    explain: bool = False
    occurred_after: datetime | None = None
    occurred_before: datetime | None = None
    source_kinds: tuple[SourceKind, ...] = ()
    speaker: str | None = None
    periods: tuple[tuple[datetime, datetime], ...] = ()
    include_superseded: bool = False
    record_ids: tuple[UUID, ...] = ()
    include_facts: bool = False
