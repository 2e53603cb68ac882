"""Records of nodes and of lists."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import CompressionState, ContentType, SourceKind, Tier, TriggerType
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.retention import EXPIRES_AT, EXPIRY_REASON, TIER


class Record(View):
    """One row of a node's metadata layer, with its file."""

    record_id: UUID
    title: str
    summary: str
    content_type: ContentType
    trigger_type: TriggerType | None
    embedding_pending: bool
    entities: list[str]
    topics: list[str]
    dates: list[str]
    relationships: list[str]
    occurred_at: datetime
    created_at: datetime
    file_id: UUID | None
    file_name: str | None
    file_state: CompressionState | None
    size_bytes: int | None
    stored_bytes: int | None
    tier: Tier = TIER
    expires_at: datetime | None = EXPIRES_AT
    expiry_reason: str | None = EXPIRY_REASON


class ListedRecord(Record):
    """A record of a list, with its node and source."""

    COLUMNS = ("record_id", "occurred_at", "node_path", "title")

    node_id: UUID
    node_path: str
    source_kind: SourceKind
    source_id: UUID
    superseded_by: UUID | None = Field(description="The newer memory that replaces this one in searches.")


class ListedRecords(View):
    """A page of records, newest first."""

    records: list[ListedRecord]
    next_cursor: str | None = NEXT_CURSOR
