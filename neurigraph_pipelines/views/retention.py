"""Retention of memories, the archive and its purges."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import SourceKind, Tier
from neurigraph_pipelines.views.pages import NEXT_CURSOR

TIER = Field(description="How long it is meant to be kept; `long` is for good.")
EXPIRES_AT = Field(
    description="When it is archived unless somebody reads it before; null for good. For others than the owner, the "
    "time that was given, which accesses may have moved."
)
EXPIRY_REASON = Field(description="Why it has this tier; the owner sees it, and null is for good.")


class Retention(View):
    """How long a memory is meant to be kept."""

    tier: Tier = TIER
    expires_at: datetime | None = EXPIRES_AT
    expiry_reason: str | None = EXPIRY_REASON
    access_count: int | None = Field(
        description="Accesses since it has this tier, once an asker and hour; the owner sees it."
    )
    access_days: int | None = Field(description="Days with an access; the owner sees it.")


class Archived(View):
    """A memory in the archive."""

    record_id: UUID
    title: str
    node_id: UUID
    node_path: str
    source_kind: SourceKind
    source_id: UUID
    tier: Tier = Field(description="The tier that it has again when it is restored.")
    archived_at: datetime
    archived_by: str = Field(description="`user:` and an id, or `pipeline:expiry`.")
    archived_reason: str


class Archive(View):
    """A page of the archive, the last archived first."""

    records: list[Archived]
    next_cursor: str | None = NEXT_CURSOR


class ArchiveChange(View):
    """The memories that were archived, or restored."""

    record_ids: list[UUID]


class Purge(View):
    """The memories of the archive that were forgotten, or would be."""

    dry_run: bool
    record_count: int = Field(description="Memories that have been in the archive for as long.")
    erasure_ids: list[UUID] = Field(description="The receipts: `GET /v1/erasures/{erasure_id}`.")
    failed: list[UUID] = Field(description="Memories that stay for now, because others read or write them.")
    left: int = Field(description="Memories that the next request forgets.")
