"""Response bodies about spaces."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.faces.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.model import SourceKind


class Space(BaseModel):
    """A named set of sources."""

    space_id: UUID
    name: str
    container_tag: str
    entity_context: str | None = Field(description="What language models are told about its sources.")
    created_at: datetime
    sources: int = Field(description="How many of its sources the caller sees.")
    metadata: dict[str, Any] = Field(description="Texts, numbers and booleans by name.")


class Spaces(BaseModel):
    """A page of spaces, newest first."""

    spaces: list[Space]
    next_cursor: str | None = NEXT_CURSOR


class SourceOfSpace(BaseModel):
    """A source that is in a space."""

    source_id: UUID
    kind: SourceKind
    external_id: str
    title: str | None
    added_at: datetime


class SourcesOfSpace(BaseModel):
    """A page of the sources of a space, those added last first."""

    sources: list[SourceOfSpace]
    next_cursor: str | None = NEXT_CURSOR
