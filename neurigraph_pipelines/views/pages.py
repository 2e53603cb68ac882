"""The fields of every page of a list."""

from __future__ import annotations

from typing import Any

from pydantic import Field

NEXT_CURSOR: Any = Field(description="Give it as `cursor` for the next page, within 7 days; null on the last page.")
"""The field ``next_cursor`` of a page."""
