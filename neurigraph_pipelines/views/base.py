"""The base of all views."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class View(BaseModel):
    """A thing as callers see it: every face shows it with these fields.

    Queries name their columns as the fields, and a cursor with ``class_row`` returns views. A field that a view does
    not have is left out: so a column that is not meant for callers never reaches one, and a client reads the answers
    of a newer server.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ()
    """The columns of a table of it, in order: fields or properties; if empty, all plain fields."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @cached_property
    def etag(self) -> str | None:
        """The version of the object for a change under a condition, where a client read it with one."""
        return None
