"""What operations take: the base of request bodies, and the parameters of lists."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from neurigraph_pipelines.database.paging import MAX_CURSOR_CHARACTERS, MAX_PAGE

MAX_FIELDS = 100
"""Most fields of one object, far above what any has."""


class Form(BaseModel):
    """A JSON object with only the documented fields."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, sent: Any) -> Any:
        # Pydantic reports every unknown field as an error of its own, which takes long for a million of them.
        if isinstance(sent, dict) and len(sent) > MAX_FIELDS:
            raise ValueError(f"an object has at most {MAX_FIELDS} fields")
        return sent


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
