"""Answers of tools: structured content for programs, and the same as text for a language model.

An answer is a view of the operation, or the fields of it that an agent needs, under the names of the HTTP API.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_serializer
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import SerializerFunctionWrapHandler, plain_serializer_function_ser_schema

from neurigraph_pipelines.faces.mcp.budget import Budget
from neurigraph_pipelines.faces.mcp.framing import NOTICE
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.scalars import ValuesByName

_View = TypeVar("_View", bound=View)


class Result(BaseModel, ABC):
    """The answer of a tool."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the answer as text, with everything remembered in frames."""

    def texts(self) -> list[str]:
        """Return the blocks of text of the answer; each says which text is remembered."""
        return ["\n".join([NOTICE, *self.lines()])]


class Shown(Result, Generic[_View]):
    """An answer that shows the fields of a view that an agent needs, beside fields of its own."""

    SHOWS: ClassVar[tuple[str, ...]]
    """Fields of the view."""

    UNLISTED: ClassVar[tuple[str, ...]] = ()
    """Further fields of the view, which the schema leaves out, since every agent pays for it."""

    view: _View = Field(exclude=True)

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> ValuesByName:
        own: ValuesByName = handler(self)
        return shown(self.view, (*self.SHOWS, *self.UNLISTED)) | own

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema with the schemas of the view's fields."""
        schema = handler.resolve_ref_schema(handler(core))
        own = schema["properties"]
        if "view" in own:
            of_view = handler.resolve_ref_schema(own.pop("view"))["properties"]
            schema["properties"] = {name: of_view[name] for name in cls.SHOWS} | own
        return schema


class Only:
    """The part of a view that a field shows: some fields, and no schema of them, since every agent pays for schemas."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the view with the shorter form in which it is shown."""
        return {**handler(source), "serialization": plain_serializer_function_ser_schema(self._shown)}

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return a schema without fields."""
        return {"type": "object"}

    def _shown(self, view: View) -> object:
        return shown(view, self._names or type(view).model_fields)


def shown(view: View, names: Iterable[str]) -> ValuesByName:
    """Return the fields of a view that an agent needs, as JSON has them."""
    return {name: plain(getattr(view, name)) for name in names}


def fitting(
    budget: Budget, names: tuple[str, ...], shortened: Callable[[_View], _View] | None = None
) -> Callable[[list[_View]], list[_View]]:
    """Return a function that returns the first items that fit, with some fields.

    Args:
        shortened: Shortens the first item if not even that fits, or the next call would show as little.
    """

    def beginning(items: list[_View]) -> list[_View]:
        for number, item in enumerate(items):
            if not budget.fits(as_json(shown(item, names))):
                return [shortened(item)] if shortened is not None and not number else items[:number]
        return items

    return beginning


def plain(value: Any) -> Any:
    """Return a value as JSON has it, with texts that show all their characters."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def as_json(value: Any) -> str:
    """Return a value as compact JSON, to be counted or shown."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
