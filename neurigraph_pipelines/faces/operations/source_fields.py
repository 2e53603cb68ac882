"""The fields of a source besides its text, in requests and responses."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.model.sources import MAX_ORIGIN_LENGTH, MAX_URL_LENGTH, SourceDetails
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS
from neurigraph_pipelines.views.kinds import Channel, DocumentType
from neurigraph_pipelines.views.scalars import MetadataValue
from neurigraph_pipelines.views.sources import AUTHOR, CHANNEL, ORIGIN, UPDATED_AT
from neurigraph_pipelines.views.spaces import ONLY_SPACES

_TYPE = "Type of the document. The bytes of a file decide over a stated format."
_URL = "A page to read it at: `http` or `https`, without a user name or password."
_METADATA = "Texts, numbers, booleans and lists of them by name, at most 16 KiB as JSON."
PRIVACY = (
    "`private`: only the owner of the graph sees it. Default: `private` if the owner hands it in and its `channel` is "
    "`dm` or `private`, otherwise `shared`."
)
CONTAINER_TAGS = (
    "The spaces that it is in. The owner's first use of a tag makes the space. Default: for a key that is bound to "
    "spaces all of them, otherwise none."
)


class Where(BaseModel):
    """The part of the caller's graph that a request is about: a node, spaces, or both. Default: all of it."""

    node_id: UUID | None = Field(
        default=None, description="Only this node and the nodes below it; a text that is added lies in it."
    )
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=ONLY_SPACES)


class SourceFields(BaseModel):
    """The fields that the writer of a source states besides its text."""

    origin: str | None = Field(
        default=None, description=ORIGIN, json_schema_extra={"maxLength": MAX_ORIGIN_LENGTH, "example": "slack"}
    )
    document_type: DocumentType | None = Field(default=None, description=_TYPE)
    url: str | None = Field(default=None, description=_URL, json_schema_extra={"maxLength": MAX_URL_LENGTH})
    channel: Channel | None = Field(default=None, description=CHANNEL)
    author: str | None = Field(default=None, description=AUTHOR, json_schema_extra={"maxLength": MAX_NAME_CHARACTERS})
    metadata: dict[str, MetadataValue] = Field(
        default_factory=dict, max_length=MAX_METADATA_KEYS, description=_METADATA
    )
    updated_at: datetime | None = Field(default=None, description=UPDATED_AT)
    tier: Tier | None = Field(
        default=None, description="How long its memories are meant to be kept; default: `long`, for good."
    )
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=CONTAINER_TAGS)

    @property
    def details(self) -> SourceDetails:
        """The fields as a domain value."""
        stated = {name: getattr(self, name) for name in DETAILS if hasattr(self, name)}
        return SourceDetails(**{**stated, "container_tags": tuple(self.container_tags)})


class VersionFields(SourceFields):
    """The same of a source that may be the next version of another one."""

    replaces: UUID | None = Field(
        default=None,
        description="The source of the same kind that it is the next version of. It has the same `external_id`. Once "
        "all of it is stored, its memories supersede those of the versions before.",
    )


DETAILS = tuple(VersionFields.model_fields)
"""The names of what may be stated."""
