"""The definition of a tool: its name, description, arguments, result and function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_args

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from neurigraph_pipelines.faces.mcp.budget import LEAST_TOKENS, MOST_TOKENS
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.results import Result, schema_of
from neurigraph_pipelines.faces.operations import operations_of
from neurigraph_pipelines.text.exact_json import keep_exactly


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        """Leave out optional arguments that are null or empty: strict clients send every argument."""
        if not isinstance(given, Mapping):
            return given
        for name, value in given.items():
            if isinstance(value, bool) and int in (types := cls._types_of(name)) and bool not in types:
                raise ValueError(f"{name} is a number, not {json.dumps(value)}")
        return {name: value for name, value in given.items() if not cls._is_left_out(name, value)}

    @classmethod
    def _types_of(cls, name: str) -> tuple[Any, ...]:
        field = cls.model_fields.get(name)
        return () if field is None else get_args(field.annotation) or (field.annotation,)

    @classmethod
    def _is_left_out(cls, name: str, value: Any) -> bool:
        field = cls.model_fields.get(name)
        is_empty = value is None or (isinstance(value, str) and not value.strip())
        return is_empty and field is not None and not field.is_required()


_Taken = TypeVar("_Taken", bound=Arguments)
_Value = TypeVar("_Value")


def _parsed(value: Any) -> Any:
    """Return a list that a client wrote as JSON in a text; some clients know no other way."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(keep_exactly(value.encode("utf-8", "surrogatepass")))
        except (ValueError, RecursionError):
            return value
    return value


ListOf = Annotated[list[_Value], BeforeValidator(_parsed)]
"""A list, also as JSON in a text."""

Cursor = str
"""The ``next_cursor`` of an answer, which says so, to go on; empty for the beginning."""

MaxTokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)]
"""Bound of an answer."""


@dataclass(frozen=True)
class Tool(Generic[_Taken]):
    """A tool.

    Attributes:
        run: Does the work, in a thread. A repeated call changes nothing more.
        reads: Whether it changes nothing; of a tool with operations they say so.
        view: The ``ui://`` resource that shows its results; None for none.
    """

    name: str
    description: str
    arguments: type[_Taken]
    result: type[Result]
    run: Callable[[AgentCall, _Taken], Result]
    reads: bool = True
    view: str | None = None

    def listed(self) -> Listed:
        """Return its description for clients."""
        does = operations_of(self.name)
        reads = not any(one.changes for one in does) if does else self.reads
        hints = ToolAnnotations(read_only_hint=reads, open_world_hint=False)
        if not reads:  # of one that only reads, the others mean nothing
            hints.destructive_hint, hints.idempotent_hint = any(one.destroys for one in does), True
        return Listed(
            name=self.name,
            description=self.description,
            input_schema=schema_of(self.arguments, is_input=True),
            output_schema=schema_of(self.result, is_input=False),
            annotations=hints,
            _meta=None if self.view is None else {"ui": {"resourceUri": self.view}},
        )
