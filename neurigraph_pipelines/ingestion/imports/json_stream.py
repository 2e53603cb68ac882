"""Items of a large JSON document, one at a time, in memory bounded by the largest item.

The document is cut at the brackets of its items and each is parsed for itself: a broken item costs nothing but
itself. Not built on ijson: version 3.6 crashes the process on a number of 5,000 digits, and has to stop at the
first fault. What the items mean belongs to the modules of the formats.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.source import CHUNK_BYTES
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

MAX_ITEM_BYTES = 256 * 1024**2
"""Longest item; one that does not end before is taken for a fault of the document."""

_WHITE = b" \t\r\n"
# Everything up to the next bracket outside a string; stops before a string whose end is not there yet.
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse one JSON object in UTF-8.

    Raises:
        InvalidInputError: It is something else; the message begins in lower case, to follow a place.
    """
    try:
        value = json.loads(data.decode())
    except RecursionError:
        raise InvalidInputError("its JSON is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"it is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"it is not JSON ({error.msg} at character {error.pos + 1})") from error
    except ValueError as error:  # a number of more digits than Python converts
        raise InvalidInputError(f"its JSON cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected an object, found {type(value).__name__}")
    return value


def first_byte(stream: io.BufferedReader) -> bytes:
    """The first byte that is not white space, left unread; empty when the first chunk is all white space."""
    return stream.peek(1).lstrip(_WHITE)[:1]


def read_items(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, dict[str, Any]] | RejectedItem]:
    """The objects of an array, or the one object that the document is.

    Args:
        stream: UTF-8.
        name: What the stream is called towards people.

    Yields:
        Where an object stands, and the object; or what had to be left out. Where the document breaks off, what
        was read before is followed by one rejection, and that is the end.

    Raises:
        InvalidInputError: The document breaks off before its first item was complete.
    """
    number = 0
    splitter = _Splitter(stream)
    try:
        for start, data in splitter.items():
            number += 1
            where = f"{name}, conversation {number}"
            try:
                yield where, parse_object(data)
            except InvalidInputError as error:
                yield RejectedItem(f"{where} (byte {start + 1:,})", str(error))
    except (_BrokenOffError, *READ_ERRORS) as error:
        reason = f"{error} at byte {splitter.position + 1:,}: what follows was not read, export it again"
        if number == 0:
            raise InvalidInputError(f"{name} is not readable JSON: {reason}.") from error
        yield RejectedItem(f"{name}, after conversation {number}", reason)


def first_keys(stream: io.BufferedReader) -> frozenset[str]:
    """Keys of the first readable object among the first ten items; none if there is none."""
    try:
        for item in islice(read_items(stream, ""), 10):
            if not isinstance(item, RejectedItem):
                return frozenset(item[1])
    except InvalidInputError:
        pass
    return frozenset()


class _BrokenOffError(Exception):
    """Nothing more can be told apart from here on."""


class _Splitter:
    """Cuts a document into the texts of its items.

    Attributes:
        position: Bytes of the document up to where the scan has come.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._buffer = b""
        self._start = 0  # in the buffer: everything before was handed out
        self._scan = 0  # in the buffer: everything before was looked at
        self._offset = 0  # of the buffer in the document

    @property
    def position(self) -> int:
        return self._offset + self._scan

    def items(self) -> Iterator[tuple[int, bytes]]:
        """Position and text of every item of an array, or of the one object."""
        outer = 1 if self._next_bracket() == b"[" else 0
        self._scan += outer
        self._start = self._scan
        depth = outer
        while depth >= outer:
            opens = self._next_bracket() in (b"{", b"[")
            if depth == outer:
                yield from self._take()  # what stands between two items, if it is more than a comma
            self._scan += 1
            depth += 1 if opens else -1
            if depth == outer:
                yield from self._take()
                if not outer:
                    break
        self._expect_end()

    def _next_bracket(self) -> bytes:
        """The next bracket outside a string, left unread; reads on as far as needed."""
        while True:
            match = _TO_BRACKET.match(self._buffer, self._scan)
            assert match is not None  # it matches the empty text
            self._scan = match.end()
            found = self._buffer[self._scan : self._scan + 1]
            if found not in (b"", b'"'):
                return found
            self._read_on()

    def _read_on(self) -> None:
        held = len(self._buffer) - self._start
        if held > MAX_ITEM_BYTES:
            raise _BrokenOffError(f"an item does not end within {MAX_ITEM_BYTES:,} bytes")
        # As much again as is held already: an unfinished string is searched anew each time.
        chunk = self._stream.read(max(CHUNK_BYTES, held))
        if not chunk:
            raise _BrokenOffError("the file breaks off")
        self._buffer = self._buffer[self._start :] + chunk
        self._offset += self._start
        self._start, self._scan = 0, self._scan - self._start

    def _take(self) -> Iterator[tuple[int, bytes]]:
        """What was looked at and not handed out yet, unless there is nothing but a comma in it."""
        data = self._buffer[self._start : self._scan].lstrip(_WHITE + b",")
        self._start = self._scan
        if data:
            yield self.position - len(data), data

    def _expect_end(self) -> None:
        rest = self._buffer[self._scan :]
        while not rest.strip(_WHITE):
            rest = self._stream.read(CHUNK_BYTES)
            if not rest:
                return
        raise _BrokenOffError("there is something behind the end of the document")
