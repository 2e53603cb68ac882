"""The definition of a tool: its name, description, arguments, result and function."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast, get_args, get_origin
from uuid import UUID

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator
from pydantic.fields import FieldInfo

from neurigraph_pipelines.faces.mcp.budget import LEAST_TOKENS, MOST_TOKENS
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.tools.answer import Result, Shown
from neurigraph_pipelines.faces.mcp.tools.schemas import schema_of
from neurigraph_pipelines.faces.operations import declarations, operations_of
from neurigraph_pipelines.text.exact_json import keep_exactly
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.scalars import ValuesByName

_Taken = TypeVar("_Taken", bound="Arguments")
_Value = TypeVar("_Value")
_View = TypeVar("_View", bound=View)


_LEFT_OUT: tuple[object, ...] = (None, "", [])


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    operations: ClassVar[Mapping[Callable[..., object], Mapping[str, str]]] = {}
    """What operations take of them: the names of arguments by the names there."""

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

    def of(self, operation: Callable[..., object]) -> ValuesByName:
        """Return the given values that an operation takes, by their names there."""
        values = {name: (argument, getattr(self, argument)) for name, argument in self.operations[operation].items()}
        fields = type(self).model_fields
        return {name: one for name, (key, one) in values.items() if fields[key].is_required() or one not in _LEFT_OUT}


def takes(
    operation: Callable[..., object], /, **arguments: str | tuple[str, str]
) -> Callable[[type[_Taken]], type[_Taken]]:
    """Add arguments that an operation declares, with its types, limits and defaults; ids are texts, to be looked up.

    Args:
        arguments: The names of its parameters and of the fields of its form, each with a description, which may be
            empty, since every agent pays for it; or with the name of the argument and a description. An argument that
            the class has already stays as it is there.
    """
    declared = declarations()[operation]
    known = {one.name: (one.kind, one.about, one.default) for one in declared.parameters}
    if declared.form is not None:
        for name, field in declared.form[1].model_fields.items():
            default = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
            known[name] = (field.annotation, field, default)
    named = {name: (name, said) if isinstance(said, str) else said for name, said in arguments.items()}

    def taking(arguments_class: type[_Taken]) -> type[_Taken]:
        added: Any = {
            argument: _argument(*known[name], said)
            for name, (argument, said) in named.items()
            if argument not in arguments_class.model_fields
        }
        made: Any = create_model(arguments_class.__name__, __base__=arguments_class, **added)
        made.__doc__ = arguments_class.__doc__
        taken = {name: argument for name, (argument, _) in named.items()}
        made.operations = {**arguments_class.operations, operation: taken}
        return cast(type[_Taken], made)

    return taking


def does(operation: Callable[..., _View], result: type[Shown[_View]]) -> Callable[[AgentCall, Arguments], Shown[_View]]:
    """Return the function of a tool that does one operation and shows its view."""
    return lambda call, given: result(view=call.do(operation, given.of(operation)))


def _argument(annotation: Any, about: FieldInfo, default: Any, said: str) -> tuple[Any, Any]:
    """Return the type and the field of an argument."""
    kinds = [one for one in get_args(annotation) if one is not NoneType]
    is_nullable = NoneType in get_args(annotation)
    kind = kinds[0] if is_nullable else annotation
    limits = [*about.metadata, *([BeforeValidator(_parsed)] if get_origin(kind) is list else [])]
    kind = str if kind is UUID else kind
    kind = kind | None if is_nullable else kind
    shown = {} if default is inspect.Parameter.empty else {"default": default}
    return Annotated[(kind, *limits)] if limits else kind, Field(**shown, description=said or None)


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
