"""Spaces: named sets of sources, and which sources are in them."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.model.spaces import MAX_ENTITY_CONTEXT_LENGTH, MAX_NAME_LENGTH
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views import spaces as views
from neurigraph_pipelines.views.scalars import Scalar

MAX_SOURCES = 1_000
"""Most sources that one request adds or removes."""

_METADATA = "Texts, numbers and booleans by name, at most 16 KiB as JSON."
_CONTEXT = "Notes for language models about the sources of the space. It is data to them, never an instruction."

router = APIRouter(prefix="/spaces", tags=["spaces"], responses=documented(401, 403, 404, 422, 503))


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


@router.post("", status_code=201, responses=documented(409, 413))
def add_space(body: NewSpace, caller: Owner, installation: InstallationDep) -> views.Space:
    """Make a space. A tag that a write names for the first time makes one, too."""
    context = installation.acting_for(caller)
    return spaces.add_space(
        context, body.container_tag, name=body.name, metadata=body.metadata, entity_context=body.entity_context
    )


@router.get("")
def list_spaces(
    caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.Spaces:
    """List spaces, newest first. A key that is bound to spaces sees those; a persona sees none."""
    found = spaces.page_of_spaces(installation.database, installation.cursors, caller, limit=limit, cursor=cursor)
    return found.into(views.Spaces)


@router.get("/{space_id}")
def space(space_id: UUID, caller: Caller, installation: InstallationDep) -> views.Space:
    """Return a space."""
    return spaces.get_space(installation.database, caller, space_id)


@router.patch("/{space_id}", responses=documented(413))
def change_space(space_id: UUID, body: ChangeSpace, caller: Owner, installation: InstallationDep) -> views.Space:
    """Change a space."""
    changes = body.model_dump(exclude_unset=True)
    return spaces.change_space(installation.acting_for(caller), space_id, changes)


@router.delete("/{space_id}")
def remove_space(space_id: UUID, caller: Owner, installation: InstallationDep) -> views.Space:
    """Remove a space, and return its last state. Its sources stay where they are."""
    return spaces.remove_space(installation.database, caller, space_id)


@router.get("/{space_id}/sources")
def list_sources(
    space_id: UUID, caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.SourcesOfSpace:
    """List the sources of a space, the last added first."""
    found = spaces.page_of_sources(
        installation.database, installation.cursors, caller, space_id, limit=limit, cursor=cursor
    )
    return found.into(views.SourcesOfSpace)


@router.post("/{space_id}/sources", responses=documented(413))
def add_sources(space_id: UUID, body: Sources, caller: Owner, installation: InstallationDep) -> views.Space:
    """Put sources into a space, with all memories from them."""
    for source_id in body.source_ids:
        look(installation, caller, source_id=source_id)
    return spaces.add_sources(installation.database, caller, space_id, body.source_ids)


@router.delete("/{space_id}/sources/{source_id}")
def remove_source(space_id: UUID, source_id: UUID, caller: Owner, installation: InstallationDep) -> views.Space:
    """Take a source out of a space. It stays in the graph and in other spaces."""
    return spaces.remove_sources(installation.database, caller, space_id, [source_id])
