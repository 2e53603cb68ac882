"""The pages that peers pull: nodes, versions of records, and records with their search segments and files."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View


class OfferedNode(View):
    """A node that the peer may read."""

    node_id: UUID
    name: str
    kind: str
    records: int = Field(description="Number of its current records that the peer may read.")
    digest: str = Field(description="MD5 of `id:version` of these records, by id, with commas between them.")


class OfferedNodes(View):
    """A page of the nodes that the peer may read, by id."""

    horizon: UUID = Field(description="Give it with the next page as `horizon`, and with the next pull as `since`.")
    is_known: bool = Field(description="Whether `since` is known here; if not, all digests were computed again.")
    nodes: list[OfferedNode]
    next_node: UUID | None = Field(description="Give it as `after` for the next page.")


class OfferedRecord(View):
    """A record of a node."""

    record_id: UUID
    version: UUID = Field(description="Another one whenever something of the record changes.")


class OfferedPart(View):
    """The records whose ids begin alike."""

    prefix: str
    records: int
    digest: str


class OfferedRecords(View):
    """The records of a node or, if there are too many, digests of parts of them."""

    records: list[OfferedRecord] | None = None
    parts: list[OfferedPart] | None = None


class PulledRecord(View):
    """A record with its search segment and files."""

    record_id: UUID
    version: UUID
    title: str
    summary: str
    occurred_at: datetime
    source: dict[str, object] = Field(description="Its source, without its messages.")
    files: list[dict[str, object]] = Field(description="Each with its checksum, and its `content` in base64 if small.")
    segment: str | None = Field(description="The search segment of its messages, in base64; null if it has none.")
    languages: list[str] = Field(description="The stemmers of its messages that are not the publisher's usual one.")
    vectors: str | None = Field(description="The vectors of its messages in base64; null without those of the model.")


class PulledRecords(View):
    """The first of the records that were asked for, by id; those that the peer may not read are left out."""

    records: list[PulledRecord]
