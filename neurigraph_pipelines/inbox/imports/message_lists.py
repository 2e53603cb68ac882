"""Lists of messages without an object around them, and conversations in the form of ShareGPT.

A file of bare messages, ``[{"role": …, "content": …}]`` or one a line, is one conversation. ShareGPT is not specified;
data sets agree about ``conversations`` with ``from`` and ``value``. Both are read as ``openai`` reads messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from neurigraph_pipelines.inbox.imports import json_stream, openai
from neurigraph_pipelines.inbox.imports.assemble import Item
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import Json, JsonObject, list_of, objects_of, text_of

MESSAGE_LISTS = "lists of messages"
"""The form of a file whose objects are messages, or have them as ShareGPT does; ``openai`` is its format."""

_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "claude": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "observation": "tool",
    "function": "tool",
    "function_response": "tool",
    "function_call": "assistant",
}
"""Roles by the names that ShareGPT's data sets give them."""

_LISTS = ("conversations", "conversation", "items", "messages")
_WORDS = ("value", "text", "content", "markdown", "parts")


def is_of_lists(item: JsonObject) -> bool:
    """Return whether an object is a message, or has messages as ShareGPT does."""
    return _is_message(item) or _listed(item) is not None


def conversations(reading: Reading) -> Iterator[Item]:
    """Read a file in OpenAI's form: objects with messages, those of ShareGPT, and bare messages as one conversation."""
    loose: list[JsonObject] = []
    for item in _items(reading):
        if isinstance(item, RejectedItem):
            yield item
        elif _listed(item[1]) is None and not item[1].keys().isdisjoint(("role", "from")):
            loose.append(_message(item[1]))
        else:
            yield from openai.conversations(_with_messages(item[1]), item[0], reading.fallback_time)
    if loose:
        yield from openai.conversations({"messages": [*loose]}, reading.part.name, reading.fallback_time)


def _items(reading: Reading) -> Iterator[tuple[str, JsonObject] | RejectedItem]:
    """Yield the objects of an array, of lines, or the one object of a file."""
    with reading.part.open() as stream:
        is_of_lines = are_lines(stream)
    with reading.open() as stream:
        if not is_of_lines:
            yield from json_stream.read_items(stream, reading.part.name)
            return
        parser = KeepingParser()
        for number, line in enumerate(iter(lambda: stream.readline(json_stream.MAX_ITEM_BYTES), b""), 1):
            where = f"{reading.part.name}, line {number}"
            try:
                if line.strip(json_stream.WHITE):
                    yield where, json_stream.parse_object(line, parser)
            except InvalidInputError as error:
                parser.twice.clear()
                yield RejectedItem(where, str(error))
            yield from json_stream.said_twice(where, parser)


def are_lines(stream: BinaryIO) -> bool:
    """Return whether the first line of a file is an object of its own."""
    lines = (line.strip(json_stream.WHITE) for line in iter(lambda: stream.readline(json_stream.MAX_ITEM_BYTES), b""))
    first = next(filter(None, lines), b"")
    try:
        return first.startswith(b"{") and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _is_message(item: JsonObject) -> bool:
    """Return whether an object is a message: a known role with words or uses of tools."""
    is_named = str(item.get("role")).lower() in _ROLES
    return _is_of_sharegpt(item) or (is_named and not item.keys().isdisjoint(("content", "parts", "tool_calls")))


def _is_of_sharegpt(item: JsonObject) -> bool:
    return str(item.get("from")).lower() in _ROLES and any(isinstance(item.get(name), str) for name in _WORDS)


def _listed(item: JsonObject) -> str | None:
    """Return the name under which an object has messages as ShareGPT has them."""
    for name in _LISTS:
        messages = objects_of(item, name)
        if messages and (_is_of_sharegpt(messages[0]) or (name != "messages" and _is_message(messages[0]))):
            return name
    return None


def _with_messages(item: JsonObject) -> JsonObject:
    name = _listed(item)
    if name is None:
        return item
    messages: list[Json] = [_message(one) if isinstance(one, dict) else one for one in list_of(item, name)]
    system = text_of(item, "system")
    return {**item, "messages": [{"role": "system", "content": system}, *messages] if system else messages}


def _message(raw: JsonObject) -> JsonObject:
    """Return a message with the names of OpenAI's form; one with an unknown role keeps it, to be rejected."""
    said = str(raw.get("role", raw.get("from")))
    role = said if said in openai.ROLES else _ROLES.get(said.lower(), said)
    return {**raw, "role": role, "content": next(filter(None, map(raw.get, _WORDS)), "")}
