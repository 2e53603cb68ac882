"""The JSON schemas of tools, short, since every agent reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue


def schema_of(model: type[BaseModel], *, is_input: bool) -> JsonSchemaValue:
    """Return the JSON schema of a model without parts that its readers do not need.

    Every agent pays for it in tokens: titles go, empty defaults, the null of what may be left out, the lengths of
    texts and a least number of 0 or 1 (they are checked all the same); of an answer what its fields mean, and which of
    them are always there.
    """
    schema = model.model_json_schema()
    shortened = _shortened(schema, schema.get("$defs", {}), is_input)
    assert isinstance(shortened, dict)
    shortened.pop("description", None)
    return {**shortened, **({"required": schema["required"]} if is_input and "required" in schema else {})}


_DROPPED = frozenset(["title", "$defs", "required", "minLength", "maxLength", "maxItems"])
_DROPPED_OF_ANSWERS = frozenset(["description", "format", "enum"])
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
        and (is_input or name not in _DROPPED_OF_ANSWERS)
        and not (name == "default" and value in _EMPTY)
        and not (name == "additionalProperties" and value is True)
        and not (name == "minimum" and value in (0, 1))
        and not (name == "maximum" and value == _MOST_OF_DATABASE)
        and not (name == "items" and value.keys() <= {"type", "format", "additionalProperties"} and not is_input)
    }
