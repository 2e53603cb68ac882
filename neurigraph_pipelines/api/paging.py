"""Pages of lists. A caller reads one item more than the page holds, which shows whether another page follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query

LARGEST_OFFSET = 2**31 - 1

Offset = Annotated[int, Query(ge=0, le=LARGEST_OFFSET)]
"""Number of items before the page."""


def page(name: str, found: Sequence[Any], limit: int, offset: int) -> dict[str, Any]:
    """Return at most ``limit`` of the items that were found under ``name``, and the offset of the next page."""
    return {name: found[:limit], "next_offset": offset + limit if len(found) > limit else None}
