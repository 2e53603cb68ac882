"""The pages that peers pull: nodes, and versions of records. Records themselves are a stream as exports have."""

from __future__ import annotations

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
