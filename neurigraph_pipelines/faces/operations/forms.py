"""The parameters of operations that list."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from neurigraph_pipelines.database.paging import MAX_CURSOR_CHARACTERS, MAX_PAGE

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
