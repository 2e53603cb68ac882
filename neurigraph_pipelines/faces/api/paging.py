"""Query parameters of lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from neurigraph_pipelines.database.paging import MAX_CURSOR_CHARACTERS, MAX_PAGE

Cursor = Annotated[
    str | None,
    Query(
        max_length=MAX_CURSOR_CHARACTERS,
        description="`next_cursor` of the page before, with the same filters. Default: the first page.",
    ),
]
"""The cursor of a page."""

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items in the page.")]
"""The size of a page."""
