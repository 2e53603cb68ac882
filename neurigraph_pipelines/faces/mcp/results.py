"""Answers of tools: structured content for programs, and the same as text for a language model.

Field names are those of the HTTP API; the output schemas are short, since every agent reads them.
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

from neurigraph_pipelines.faces.mcp.framing import NOTICE, inline, quoted
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


def described(title: str | None, summary: str | None) -> Iterator[str]:
    """Yield the title and the summary of a memory as quotations."""
    for text in (title, summary):
        if text:
            yield quoted(text)


def kept_until(expires_at: datetime | str | None) -> Iterator[str]:
    """Yield when a memory is archived, if it is not kept for good."""
    if expires_at:
        yield f"archived after {plain(expires_at)}, unless it is read before"


def path_of(path: str | None) -> str:
    """Return the path of a node for a line of an answer."""
    return inline(path) if path else "a node you may not see"


def listed(words: Iterable[str]) -> str:
    """Return names with commas between them, each in quotation marks."""
    return ", ".join(map(inline, words))


def schema_of(model: type[BaseModel], *, is_input: bool) -> JsonSchemaValue:
    """Return the JSON schema of a model without parts that its readers do not need.

    Every agent pays for it in tokens: titles go, empty defaults, the null of what may be left out, the lengths of
    texts and a least number of 0 or 1 (they are checked all the same), and which parts of an answer are always there.
    """
    schema = model.model_json_schema()
    shortened = _shortened(schema, schema.get("$defs", {}), is_input)
    assert isinstance(shortened, dict)
    shortened.pop("description", None)
    return {**shortened, **({"required": schema["required"]} if is_input and "required" in schema else {})}


_DROPPED = frozenset(["title", "$defs", "required", "minLength", "maxLength", "maxItems"])
_EMPTY: tuple[Any, ...] = (None, "", [])
_MOST_OF_DATABASE = 2**31 - 1


def _shortened(schema: Any, definitions: JsonSchemaValue, is_input: bool) -> Any:
    if isinstance(schema, list):
        return [_shortened(one, definitions, is_input) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        named = {name: value for name, value in named.items() if name != "description"}
        return _shortened(named, definitions, is_input)
    if {"type": "null"} in schema.get("anyOf", ()):
        first, *_ = schema["anyOf"]
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        is_optional = "default" in schema
        nullable = {} if is_optional and is_input else {"type": [first["type"], "null"]}
        return _shortened({**first, **rest, **nullable}, definitions, is_input)
    return {
        name: (
            {key: _shortened(one, definitions, is_input) for key, one in value.items()}
            if name == "properties"
            else _shortened(value, definitions, is_input)
        )
        for name, value in schema.items()
        if name not in _DROPPED
        and not (name == "default" and value in _EMPTY)
        and not (name == "additionalProperties" and value is True)
        and not (name == "minimum" and value in (0, 1))
        and not (name == "maximum" and value == _MOST_OF_DATABASE)
        and not (name == "items" and value.keys() <= {"type", "additionalProperties"} and not is_input)
    }
