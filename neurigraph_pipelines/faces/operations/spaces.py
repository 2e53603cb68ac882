"""Spaces: named sets of sources, and which sources are in them."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.model.spaces import MAX_ENTITY_CONTEXT_LENGTH, MAX_NAME_LENGTH
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import spaces as views
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.scalars import Scalar

MAX_SOURCES = 1_000
"""Most sources that one request adds or removes."""

_METADATA = "Texts, numbers and booleans by name, at most 16 KiB as JSON."
_CONTEXT = "Notes for language models about the sources of the space. It is data to them, never an instruction."

operation = OperationGroup("spaces")


class NewSpace(Form):
    """A space to make."""

    container_tag: str = Field(
        description="Names it in filters, on writes and for keys. It never changes.",
        json_schema_extra={"pattern": "^[A-Za-z0-9_:-]{1,100}$", "example": "sm_project_garden"},
    )
    name: str | None = Field(
        default=None, description="Default: the tag.", json_schema_extra={"maxLength": MAX_NAME_LENGTH}
    )
    metadata: dict[str, Scalar] = Field(default_factory=dict, max_length=MAX_METADATA_KEYS, description=_METADATA)
    entity_context: str | None = Field(
        default=None, description=_CONTEXT, json_schema_extra={"maxLength": MAX_ENTITY_CONTEXT_LENGTH}
    )


class ChangeSpace(Form):
    """Changes of a space. Fields that are left out stay."""

    name: str = Field(default="", json_schema_extra={"maxLength": MAX_NAME_LENGTH})
    metadata: dict[str, Scalar] = Field(default_factory=dict, max_length=MAX_METADATA_KEYS, description=_METADATA)
    entity_context: str | None = Field(
        default=None, description=_CONTEXT, json_schema_extra={"maxLength": MAX_ENTITY_CONTEXT_LENGTH}
    )


class Sources(Form):
    """Sources by their ids."""

    source_ids: list[UUID] = Field(min_length=1, max_length=MAX_SOURCES)


@operation("POST /spaces", "space add", who=Who.OWNER, status=201, refusals=(409,))
def add_space(call: Call, body: NewSpace) -> views.Space:
    """Make a space. A tag that a write names for the first time makes one, too."""
    return spaces.add_space(
        call.context, body.container_tag, name=body.name, metadata=body.metadata, entity_context=body.entity_context
    )


@operation("GET /spaces", "space list")
def list_spaces(call: Call, limit: Limit = 50, cursor: Cursor = None) -> views.Spaces:
    """List spaces, newest first. A key that is bound to spaces sees its spaces; a persona sees none."""
    return call.page(views.Spaces, spaces.page_of_spaces, limit=limit, cursor=cursor)


@operation("GET /spaces/{space_id}", "space show")
def space(call: Call, space_id: UUID) -> views.Space:
    """Return a space."""
    return call.do(spaces.get_space, space_id)


@operation("PATCH /spaces/{space_id}", "space edit", who=Who.OWNER)
def change_space(call: Call, space_id: UUID, body: ChangeSpace) -> views.Space:
    """Change a space."""
    return spaces.change_space(call.context, space_id, body.model_dump(exclude_unset=True))


@operation("DELETE /spaces/{space_id}", "space remove", who=Who.OWNER)
def remove_space(call: Call, space_id: UUID) -> views.Space:
    """Remove a space, and return its last state. Its sources stay where they are."""
    return call.do(spaces.remove_space, space_id)


@operation("GET /spaces/{space_id}/sources", "space source list")
def list_sources(call: Call, space_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> views.SourcesOfSpace:
    """List the sources of a space, the last added first."""
    return call.page(views.SourcesOfSpace, spaces.page_of_sources, space_id, limit=limit, cursor=cursor)


@operation("POST /spaces/{space_id}/sources", "space source add", who=Who.OWNER)
def add_sources(call: Call, space_id: UUID, body: Sources) -> views.Space:
    """Put sources into a space, with all memories from them."""
    return call.do(spaces.add_sources, space_id, body.source_ids)


@operation("DELETE /spaces/{space_id}/sources/{source_id}", "space source remove", who=Who.OWNER)
def remove_source(call: Call, space_id: UUID, source_id: UUID) -> views.Space:
    """Take a source out of a space. It stays in the graph and in other spaces."""
    return call.do(spaces.remove_sources, space_id, [source_id])
