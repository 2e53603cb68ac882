"""Spaces and the sources in them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import SourceKind
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.scalars import UserJson

ONLY_SPACES = "Only what is in at least one of these spaces. Default: no limit. An unknown tag is an empty space."


class Space(View):
    """A named set of sources."""

    space_id: UUID
    name: str
    container_tag: str
    entity_context: str | None = Field(description="A text that tells language models about its sources.")
    created_at: datetime
    source_count: int = Field(description="How many of its sources the caller sees.")
    metadata: UserJson = Field(description="Texts, numbers and booleans by name.")


class Spaces(View):
    """A page of spaces, newest first."""

    spaces: list[Space]
    next_cursor: str | None = NEXT_CURSOR


class SourceOfSpace(View):
    """A source that is in a space."""

    source_id: UUID
    kind: SourceKind
    external_id: str
    title: str | None
    added_at: datetime


class SourcesOfSpace(View):
    """A page of the sources of a space, the last added first."""

    sources: list[SourceOfSpace]
    next_cursor: str | None = NEXT_CURSOR
