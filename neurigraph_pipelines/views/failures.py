"""Failures of segments and uploads, and their replays."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import SourceKind, TriggerType
from neurigraph_pipelines.views.pages import NEXT_CURSOR


class ReplayOutcome(StrEnum):
    """The result of replaying one failure."""

    REPLAYED = "replayed"
    ALREADY_REPLAYED = "already_replayed"
    STORED_MEANWHILE = "stored_meanwhile"


class Failure(View):
    """A segment that could not be stored, or an upload that could not be read, after its last attempt."""

    failure_id: UUID
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    file_name: str | None = Field(description="For an upload.")
    trigger_type: TriggerType | None = Field(description="For a segment. Null for an upload, as the next three fields.")
    first_message: int | None = Field(description="Number of the segment's first message in its source.")
    last_message: int | None
    token_count: int | None
    state: str = Field(description="`failed`, or the state of the segment or upload after a replay.")
    step: str = Field(description="The step that failed.")
    error: str
    attempts: int
    occurred_at: datetime
    replayed_at: datetime | None


class FailureOfUser(Failure):
    """A failure as an operator sees it, with its user and its segment."""

    user_id: UUID
    user_slug: str
    trigger_id: UUID | None = Field(description="Null for an upload that was never read.")


class Failures(View):
    """A page of failures, newest first."""

    failures: list[Failure]
    next_cursor: str | None = NEXT_CURSOR


class Replay(View):
    """The outcome of a replay. `stored_meanwhile`: the segment was stored or the upload read, so nothing was done."""

    failure_id: UUID
    outcome: ReplayOutcome
