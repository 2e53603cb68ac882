"""Quarantines, previews of quarantines, and suspicious memories."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.pages import NEXT_CURSOR


class Suspicion(StrEnum):
    """Why something is suggested."""

    HIDDEN_INSTRUCTIONS = "hidden_instructions"
    INVISIBLE_TEXT = "invisible_text"
    KEYWORD_STUFFING = "keyword_stuffing"
    RESTATEMENT = "restatement"
    FLOOD = "flood"


class Conditions(View):
    """The conditions of a quarantine: it holds messages that meet all conditions that are set."""

    source_id: UUID | None
    key_id: UUID | None
    persona_id: UUID | None
    received_after: datetime | None
    received_before: datetime | None


class Quarantine(Conditions):
    """A quarantine, in force until `released_at`."""

    quarantine_id: UUID
    reason: str
    requested_by: str = Field(description="`user:` and an id, with the key or door that was used.")
    created_at: datetime
    released_by: str | None
    released_at: datetime | None = Field(description="Null while it is in force.")
    record_count: int = Field(description="Records that it holds now.")
    revision_count: int = Field(description="Changes of other records that it hides now.")


class Quarantines(View):
    """A page of the quarantines of a graph, newest first."""

    quarantines: list[Quarantine]
    next_cursor: str | None = NEXT_CURSOR


class QuarantinePreview(View):
    """The memories that a quarantine would hide."""

    record_count: int
    message_count: int = Field(description="The messages of these records that meet the conditions.")
    node_count: int
    hidden_already: int = Field(description="How many of the records another quarantine holds.")
    record_ids: list[UUID]
    revision_count: int = Field(description="Changes of records that it would hide: words, supersessions and moves.")
    revised_record_ids: list[UUID] = Field(description="Records that would be shown without these changes.")


class Suggestion(View):
    """Something that may belong into quarantine. A person decides."""

    suspicion: Suspicion
    rule: Conditions = Field(description="The quarantine that would hold it.")
    count: int
    detail: str = Field(description="One sentence with numbers, without remembered text.")


class Suggestions(View):
    """Suspicious memories, the most suspicious kinds first."""

    suggestions: list[Suggestion]
