"""The pages that peers pull: nodes, and versions of records. Records themselves are a stream as exports have.

Peers read them in these forms, with limits, because a publisher is a stranger.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import ConceptKind


def _clean(text: str) -> str:
    if "\0" in text or (not text.isascii() and any(0xD800 <= ord(one) < 0xE000 for one in text)):
        raise ValueError("a text has characters that cannot be stored")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Count = Annotated[int, Field(ge=0, lt=2**31)]


class OfferedNode(View):
    """A node that the peer may read."""

    node_id: UUID
    name: Annotated[Text, Field(min_length=1, max_length=120)]
    kind: ConceptKind
    record_count: Annotated[Count, Field(description="Number of its current records that the peer may read.")]
    digest: str = Field(
        pattern="^[0-9a-f]{32}$", description="MD5 of `id:version` of these records, by id, with commas between them."
    )


class OfferedNodes(View):
    """A page of the nodes that the peer may read, by id."""

    horizon: UUID = Field(description="Give it with the next page as `horizon`, and with the next pull as `since`.")
    is_known: bool = Field(description="Whether `since` is known here; if not, all digests were computed again.")
    nodes: list[OfferedNode] = Field(max_length=1_000)
    next_node: UUID | None = Field(description="Give it as `after` for the next page.")


class OfferedRecord(View):
    """A record of a node."""

    record_id: UUID
    version: UUID = Field(description="Another one whenever something of the record changes.")


class OfferedPart(View):
    """The records whose ids begin alike."""

    prefix: str = Field(pattern="^[0-9a-f]{1,8}$")
    record_count: Count
    digest: str


class OfferedRecords(View):
    """The records of a node or, if there are too many, digests of parts of them."""

    records: Annotated[list[OfferedRecord], Field(max_length=100_000)] | None = None
    parts: Annotated[list[OfferedPart], Field(max_length=256)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> OfferedRecords:
        if (self.records is None) == (self.parts is None):
            raise ValueError("either records or parts")
        return self
