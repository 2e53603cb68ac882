"""Answers of tools: structured content for programs, and the same as text for a language model.

Field names are those of the HTTP API.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import plain_serializer_function_ser_schema

from neurigraph_pipelines.faces.mcp.framing import NOTICE
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.base import View


class Result(BaseModel, ABC):
    """The answer of a tool."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the answer as text, with everything remembered in frames."""

    def texts(self) -> list[str]:
        """Return the blocks of text of the answer; each says what remembered text is."""
        return ["\n".join([NOTICE, *self.lines()])]


class Only:
    """What a field with a view shows of it: some fields, and no schema of them, since every agent pays for schemas."""

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


def shown(view: View, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a view that an agent needs, as JSON has them."""
    return {name: plain(getattr(view, name)) for name in names}


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
