"""What is asked, and what is answered: their shapes, and what they may be. Answering belongs to ``search``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.text.hygiene import clean_text

MAX_QUERY_CHARACTERS = 4_000
MAX_LIMIT = 200
MAX_MESSAGE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        limit: Most records.
        message_limit: Most single messages.
        node_id: Search only this node and what lies below it.
        at: Only what was known at this moment, shown with the title and summary that it had then.
        explain: Return every component of the scores.
        occurred_after: Only what happened then or later.
        occurred_before: Only what happened before then.
        source_kinds: Only what came from sources of these kinds; none named means all.
        speaker: Only messages of whoever bears this name, in any case, and the records that hold one.
        periods: Stretches of time, start included and end not, that the question names: what happened in one of them
            counts more, and nothing is left out.
        include_superseded: Also memories that newer ones took the place of.
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

    def cleaned(self) -> str:
        """The query as text that can be stored.

        Raises:
            InvalidInputError: It is empty or too long, or a limit is out of range.
        """
        query = clean_text(self.query, "repair")[0].strip()
        if not query:
            raise InvalidInputError("the query is empty")
        if len(query) > MAX_QUERY_CHARACTERS:
            raise InvalidInputError(
                f"the query has {len(query):,} characters and the limit is {MAX_QUERY_CHARACTERS:,}"
            )
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidInputError(f"limit lies between 1 and {MAX_LIMIT}")
        if not 0 <= self.message_limit <= MAX_MESSAGE_LIMIT:
            raise InvalidInputError(f"message_limit lies between 0 and {MAX_MESSAGE_LIMIT}")
        return query

    def cleaned_speaker(self) -> str | None:
        """The name of whoever is asked about, as text that can be stored."""
        return clean_text(self.speaker, "repair")[0] if self.speaker is not None else None


@dataclass(frozen=True, slots=True)
class Answer:
    """What phase one found, as plain values in the shape that the HTTP API gives them.

    Attributes:
        notes: What the answer had to do without, one sentence each.
        periods: The stretches of time that were read out of the question's words.
    """

    hits: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    anchors: list[dict[str, Any]] = field(default_factory=list)
    warmed: int = 0
    notes: list[str] = field(default_factory=list)
    periods: list[dict[str, Any]] = field(default_factory=list)
