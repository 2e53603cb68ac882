"""Items of a large JSON document, one at a time, in memory bounded by the largest item.

Built on the events of ijson, not on ``ijson.items``: in version 3.6 that crashes the process on deep nesting
(100,000 levels) and on an integer of 5,000 digits. What the items mean belongs to the modules of the formats.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import ijson

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.source import CHUNK_BYTES, READ_ERRORS
from neurigraph_pipelines.model import RejectedItem

MAX_DEPTH = 200
"""Deepest nesting of an item; exports stay below 20."""

_PARSE_ERRORS = (ijson.JSONError, ValueError, ArithmeticError, *READ_ERRORS)
_MONSTROUS_NUMBER = re.compile(rb"\d{2000,}|\d[eE][+-]?\d{15,}")


class _Chunks:
    """Chunks for ijson, cut so that nothing stands before a monstrous number in the same chunk.

    Python refuses to convert such numbers, and ijson then forgets all other events of that chunk: this way
    there are none, and nothing before the number is lost.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._rest = b""
        self.position = 0

    def read(self, size: int) -> bytes:
        chunk = self._rest or self._stream.read(size)
        number = _MONSTROUS_NUMBER.search(chunk)
        cut = (number.start() or number.end()) if number else len(chunk)
        chunk, self._rest = chunk[:cut], chunk[cut:]
        self.position += len(chunk)
        return chunk


def first_byte(stream: io.BufferedReader) -> bytes:
    """The first byte that is not white space, left unread; empty when the first chunk is all white space."""
    return stream.peek(1).lstrip()[:1]


def read_items(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, Any] | RejectedItem]:
    """The items of an array, or the one object that the document is, with numbers as ``int`` or ``Decimal``.

    Args:
        stream: UTF-8.
        name: What the stream is called towards people.

    Yields:
        Where an item stands, and the item; or what had to be left out. Where the document breaks off or is
        broken, what was read before is followed by one rejection, and that is the end.

    Raises:
        InvalidInputError: The document is broken before its first item was complete.
    """
    chunks = _Chunks(stream)
    number = 0
    try:
        for item in _build(ijson.basic_parse(chunks, buf_size=CHUNK_BYTES)):
            number += 1
            where = f"{name}, conversation {number}"
            if isinstance(item, _TooDeep):
                yield RejectedItem(where, f"it is nested deeper than {MAX_DEPTH} levels")
            else:
                yield where, item
    except _PARSE_ERRORS as error:
        reason = f"the file is broken or breaks off at or before byte {chunks.position:,} ({_first_line(error)})"
        if number == 0:
            raise InvalidInputError(f"{name}: {reason}; nothing in it could be read: export it again.") from error
        yield RejectedItem(f"{name}, after conversation {number}", f"{reason}; the rest was not read: export it again")


def _first_line(error: Exception) -> str:
    """What the parser says, without the excerpt of the user's data that follows."""
    text = error.args[0] if error.args else ""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return str(text).strip().split("\n", 1)[0].rstrip(".") or type(error).__name__


class _TooDeep:
    """Stands for an item that was skipped."""


def _build(events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    """Values from events; containers are attached when they begin, so that no keys need to be remembered."""
    outer = 0  # 1 inside the array whose items are wanted
    depth = 0
    too_deep = False
    key = ""
    stack: list[Any] = []
    for position, (event, value) in enumerate(events):
        if event == "map_key":
            key = value
            continue
        if event == "start_array" and position == 0:
            outer = depth = 1
            continue
        if event in ("end_map", "end_array"):
            depth -= 1
            if depth < outer:
                continue
            if depth < MAX_DEPTH:
                value = stack.pop()
            if depth == outer:
                yield _TooDeep() if too_deep else value
                too_deep = False
            continue
        starts = event in ("start_map", "start_array")
        if starts:
            value = {} if event == "start_map" else []
        if depth > MAX_DEPTH or (starts and depth == MAX_DEPTH):
            too_deep = True
        elif stack and isinstance(stack[-1], dict):
            stack[-1][key] = value
        elif stack:
            stack[-1].append(value)
        elif not starts:
            yield value
        if starts:
            if depth < MAX_DEPTH:
                stack.append(value)
            depth += 1


def first_keys(stream: io.BufferedReader) -> Iterator[str]:
    """Keys of the first object of the document, as far as it can be read."""
    depth = 0
    wanted = 1
    try:
        for event, value in ijson.basic_parse(_Chunks(stream), buf_size=CHUNK_BYTES):
            if event == "start_array" and depth == 0:
                wanted = 2
            if event == "map_key" and depth == wanted:
                yield value
            if event in ("start_map", "start_array"):
                depth += 1
            elif event in ("end_map", "end_array"):
                depth -= 1
                if depth < wanted:
                    return
    except _PARSE_ERRORS:
        return
