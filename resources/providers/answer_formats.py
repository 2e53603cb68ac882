"""How a chat model is asked for an answer of a schema, and how the answer is read.

OpenAI enforces a schema. Other servers of its protocol accept some of that, ignore it or refuse it, and their models
add prose, reasoning or fields. Belongs here: the way down from strict schemas to plain instructions, and the repair of
what comes back. What an answer means is in ``providers.answers``.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from enum import IntEnum
from itertools import islice
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from neurigraph_pipelines.views.scalars import WireObject

A = TypeVar("A", bound=BaseModel)

_REASONING_ENDS = "</think>"
_MOST_BEGINNINGS = 20
_DECODER = json.JSONDecoder()
_CONCERNS_FORMAT = ("response_format", "json_schema", "json_object", "schema", "strict", "grammar", "format")


class AnswerFormat(IntEnum):
    """Ways to ask for an answer of a schema, the strictest first."""

    STRICT_SCHEMA = 0
    SCHEMA = 1
    OBJECT = 2
    WORDS = 3


class AnswerFormats:
    """The way in which one server is asked, found out by asking. Thread-safe.

    Args:
        is_compatible: Whether it is another server than OpenAI's own, which is always asked in the strictest way.
    """

    def __init__(self, *, is_compatible: bool) -> None:
        self._is_compatible = is_compatible
        self._lock = threading.Lock()
        self._format = AnswerFormat.STRICT_SCHEMA
        self._is_spelt_out = False

    @property
    def current(self) -> AnswerFormat:
        """The strictest way that the server has not refused."""
        return self._format

    def step_down(self, refused: AnswerFormat, complaint: str) -> bool:
        """Note that the server refused a request; return whether it may be asked in another way."""
        if not self._is_compatible or not any(word in complaint.lower() for word in _CONCERNS_FORMAT):
            return False
        with self._lock:
            if refused is not AnswerFormat.WORDS:
                self._format = max(self._format, AnswerFormat(refused + 1))
        return refused is not AnswerFormat.WORDS

    def parameters(self, how: AnswerFormat, shape: type[BaseModel]) -> WireObject:
        """Return the part of a request about the format of its answer."""
        if how is AnswerFormat.WORDS:
            return {}
        if how is AnswerFormat.OBJECT:
            return {"response_format": {"type": "json_object"}}
        schema: WireObject = {"name": shape.__name__, "schema": shape.model_json_schema()}
        if how is AnswerFormat.STRICT_SCHEMA:
            schema["strict"] = True
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    def instructions(self, how: AnswerFormat, shape: type[BaseModel]) -> str:
        """Return the part of the instructions about it: the schema, unless the server enforces it."""
        if how < AnswerFormat.OBJECT and not self._is_spelt_out:
            return ""
        schema = json.dumps(shape.model_json_schema(), ensure_ascii=False)
        return f"\n\nAnswer with one JSON object that fits this schema, and with nothing else:\n{schema}"

    def read(self, content: str, shape: type[A]) -> A:
        """Read an answer; that of a compatible server is repaired if it must be.

        Raises:
            ValidationError: The answer has no object of this shape.
        """
        try:
            return shape.model_validate_json(content)
        except ValidationError:
            if not self._is_compatible:
                raise
            with self._lock:
                self._is_spelt_out = True  # the server does not enforce the schema
        return shape.model_validate(_fitted(_found_object(content, shape), shape))


def _found_object(content: str, shape: type[BaseModel]) -> Any:
    """Return the JSON object within reasoning, prose or a code fence; small faults are repaired if none is valid."""
    from json_repair import repair_json

    answer = content.rpartition(_REASONING_ENDS)[2]
    begins = [found.start() for found in islice(re.finditer("{", answer), _MOST_BEGINNINGS)]
    for begin in begins:
        with suppress(ValueError):
            found, _ = _DECODER.raw_decode(answer, begin)
            if not shape.model_fields.keys().isdisjoint(found):
                return found
    return repair_json(answer[begins[0] :], return_objects=True) if begins else None


def _fitted(value: Any, shape: type[BaseModel]) -> Any:
    """Return a value without fields that the shape does not have; a missing text or list is empty."""
    if not isinstance(value, dict):
        return value
    fields = {name: field.annotation for name, field in shape.model_fields.items()}
    fitted = {name: _fitted_field(value[name], kind) for name, kind in fields.items() if value.get(name) is not None}
    empty = {name: [] if get_origin(kind) is list else "" for name, kind in fields.items() if _may_be_empty(kind)}
    return {**empty, **fitted}


def _fitted_field(value: Any, kind: Any) -> Any:
    if get_origin(kind) is not list or not isinstance(value, list):
        return value
    (item,) = get_args(kind)
    is_model = isinstance(item, type) and issubclass(item, BaseModel)
    return [_fitted(one, item) for one in value] if is_model else value


def _may_be_empty(kind: Any) -> bool:
    return kind is str or get_origin(kind) is list
