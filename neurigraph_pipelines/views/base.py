"""The bases of views and of forms."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

MAX_FIELDS = 100
"""Most fields of one object, far above what any has."""


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


class Form(BaseModel):
    """A thing that callers send: a JSON object with only the documented fields."""

    SEEN_LATER: ClassVar[tuple[str, ...]] = ()
    """Fields with ids that callers may name without seeing what they name."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, sent: Any) -> Any:
        # Pydantic reports every unknown field as an error of its own, which takes long for a million of them.
        if isinstance(sent, dict) and len(sent) > MAX_FIELDS:
            raise ValueError(f"an object has at most {MAX_FIELDS} fields")
        return sent
