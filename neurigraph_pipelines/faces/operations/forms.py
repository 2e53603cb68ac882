"""The parameters of operations that list."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.database.paging import MAX_CURSOR_CHARACTERS, MAX_PAGE
from neurigraph_pipelines.inbox.source_lists import SourceFilter
from neurigraph_pipelines.model import Progress

Cursor = Annotated[
    str | None,
    Field(
        max_length=MAX_CURSOR_CHARACTERS,
        description="`next_cursor` of the page before, with the same filters. Default: the first page.",
    ),
]
"""The cursor of a page."""

Limit = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Maximum number of items in the page.")]
"""The size of a page."""


class WantedSources(BaseModel):
    """The filters of a list of sources."""

    state: Progress | None = Field(default=None, description="Only sources in this state.")
    external_id: str | None = Field(default=None, description="Only the source with this id.")
    title: str | None = Field(default=None, description="Only sources with all of these words in the title.")
    received_after: datetime | None = Field(default=None, description="Received at this time or later.")
    received_before: datetime | None = Field(default=None, description="Received before this time.")
    started_after: datetime | None = Field(default=None, description="Started at this time or later.")
    started_before: datetime | None = Field(default=None, description="Started before this time.")
    upload_id: UUID | None = Field(default=None, description="Only conversations of this uploaded export.")

    @property
    def filter(self) -> SourceFilter:
        """The filters as a domain value."""
        return SourceFilter(**dict(self))
