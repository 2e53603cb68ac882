"""Streaming reader for the items of a large JSON document, with memory bounded by the largest item.

Parses one item after the other. Where that fails, it splits the document at the brackets of the item, so a broken item
loses only itself.
ijson is not used: version 3.6 crashes the process on a number of 5,000 digits and stops at the first error. The modules
of the formats interpret the items.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from neurigraph_pipelines.inbox.imports.source import CHUNK_BYTES
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import Json, JsonObject
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

MAX_ITEM_BYTES = 256 * 1024**2
"""Longest item; a longer one counts as an error of the document."""

WHITE = b" \t\r\n"
"""White space of JSON."""

_SHOWN = 40
_MOST_NAMED = 3

_BETWEEN = re.compile(r"[ \t\r\n,]*+")
# Everything up to the next bracket outside a string; stops before a string whose end is not in the buffer yet.
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)


def parse_object(data: bytes, parser: KeepingParser) -> JsonObject:
    """Parse one JSON object in UTF-8, as ``parser`` keeps it.

    Raises:
        InvalidInputError: It is something else. The message begins in lower case, because it follows a place.
    """
    try:
        value = parser.parse(data.decode())
    except RecursionError:
        raise InvalidInputError("its JSON is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"it is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"it is not JSON ({error.msg} at character {error.pos + 1})") from error
    return required_object(value)


def required_object(value: Json) -> JsonObject:
    """Return a value if it is an object.

    Raises:
        InvalidInputError: It is something else.
    """
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected an object, found {type(value).__name__}")
    return value


def read_items(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, JsonObject] | RejectedItem]:
    """Read the objects of an array, or a document of one object.

    Args:
        stream: A stream of UTF-8.
        name: Name of the stream, for people.

    Yields:
        The place of an object and the object, or a rejection. A truncated document ends with one rejection.

    Raises:
        InvalidInputError: The document ends before its first item is complete.
    """
    number = 0
    parser = KeepingParser()
    splitter = _Splitter(stream, parser)
    try:
        for start, item in splitter.items():
            number += 1
            where = f"{name}, conversation {number}"
            try:
                yield where, item if isinstance(item, dict) else _object_of(item, parser)
            except InvalidInputError as error:
                yield RejectedItem(f"{where} (byte {start + 1:,})", str(error))
            yield from said_twice(where, parser)
    except (_UnreadableError, *READ_ERRORS) as error:
        reason = f"{error} at byte {splitter.position + 1:,}: the rest was not read, {_remedy(error)}"
        if number == 0:
            raise InvalidInputError(f"{name} is not readable JSON: {reason}.") from error
        yield RejectedItem(f"{name}, after conversation {number}", reason)


def _object_of(item: bytes, parser: KeepingParser) -> JsonObject:
    """Parse the text of an item; between two objects may be several values of other types.

    Raises:
        InvalidInputError: It is no object.
    """
    if item[:1] not in (b"{", b"["):
        with suppress(ValueError, RecursionError):
            found = sorted({type(one).__name__ for one in json.loads(b"[%s]" % item)})
            raise InvalidInputError(f"expected an object, found {', '.join(found)}")
    return parse_object(item, parser)


def said_twice(where: str, parser: KeepingParser) -> Iterator[RejectedItem]:
    """Yield a rejection if an object had a name twice: readers of conversations use the first value."""
    if parser.twice:
        names = ", ".join(repr(name[:_SHOWN]) for name in dict.fromkeys(parser.twice[:_MOST_NAMED]))
        parser.twice.clear()
        yield RejectedItem(where, f"objects in it have the same name twice ({names}): only the first value is read")


def first_object(stream: io.BufferedReader) -> JsonObject:
    """Return the first readable object among the first ten items; an empty one if there is none."""
    try:
        for item in islice(read_items(stream, ""), 10):
            if not isinstance(item, RejectedItem):
                return item[1]
    except InvalidInputError:
        pass
    return {}


class _UnreadableError(Exception):
    """No further items can be read from the document."""


class _TooLongError(_UnreadableError):
    """An item is longer than ``MAX_ITEM_BYTES``."""


def _remedy(error: Exception) -> str:
    return "write it as a list of smaller objects" if isinstance(error, _TooLongError) else "export it again"


class _Splitter:
    """Splits a document into its items: parsed ones, and the texts of those that could not be parsed at once.

    Attributes:
        position: Number of scanned bytes of the document.
    """

    def __init__(self, stream: io.BufferedReader, parser: KeepingParser) -> None:
        self._stream = stream
        self._parser = parser
        self._buffer = b""
        self._start = 0  # index in the buffer after the last item
        self._scan = 0  # index in the buffer up to which it is scanned
        self._offset = 0  # position of the buffer in the document
        self._is_new = False  # whether nothing of the buffer was parsed yet

    @property
    def position(self) -> int:
        return self._offset + self._scan

    def items(self) -> Iterator[tuple[int, JsonObject | bytes]]:
        """Yield position and value or text of every item of an array, or of the one object."""
        outer = 1 if self._next_bracket() == b"[" else 0
        self._scan += outer
        self._start = self._scan
        depth = outer
        while depth >= outer:
            if depth == outer == 1:
                yield from self._parsed()
            opens = self._next_bracket() in (b"{", b"[")
            if depth == outer:
                yield from self._scanned()  # text between two items, if it is more than a comma
            self._scan += 1
            depth += 1 if opens else -1
            if depth == outer:
                yield from self._scanned()
                if not outer:
                    break
        self._expect_end()

    def _parsed(self) -> Iterator[tuple[int, JsonObject]]:
        """Yield the next objects of the buffer, up to one that is broken or much longer than the buffer.

        The rest of the buffer is scanned then, so that many broken items cost no more than one.
        """
        is_longer = True  # whether more was read since the last object
        while self._is_new and is_longer:
            before = self._start
            yield from self._parsed_once()
            is_longer = self._start > before or len(self._buffer) - self._start < CHUNK_BYTES
            if is_longer and self._buffer[self._start :].lstrip(WHITE + b",")[:1] in (b"{", b""):
                with suppress(_UnreadableError):  # the item may end in what follows
                    self._read_more()

    def _parsed_once(self) -> Iterator[tuple[int, JsonObject]]:
        self._is_new = False
        try:
            text, _ = codecs.utf_8_decode(self._buffer[self._start :])
        except UnicodeDecodeError:
            return
        at, is_ascii = 0, text.isascii()
        while True:
            between = _BETWEEN.match(text, at)
            assert between is not None  # the expression matches the empty text
            begin = between.end()
            if text[begin : begin + 1] != "{":
                return
            try:
                item, end = self._parser.parse_at(text, begin)
            except (ValueError, RecursionError):
                self._parser.twice.clear()
                return
            self._start += begin - at  # a comma and white space take a byte each
            where = self._offset + self._start
            self._start += end - begin if is_ascii else len(text[begin:end].encode())
            self._scan, at = self._start, end
            yield where, item

    def _next_bracket(self) -> bytes:
        """Find the next bracket outside a string without consuming it; read more data as needed."""
        while True:
            match = _TO_BRACKET.match(self._buffer, self._scan)
            assert match is not None  # the expression matches the empty text
            self._scan = match.end()
            found = self._buffer[self._scan : self._scan + 1]
            if found not in (b"", b'"'):
                return found
            self._read_more()

    def _read_more(self) -> None:
        buffered = len(self._buffer) - self._start
        if buffered > MAX_ITEM_BYTES:
            raise _TooLongError(f"an item does not end within {MAX_ITEM_BYTES:,} bytes")
        # Double the buffer, because an unfinished string is scanned again each time.
        chunk = self._stream.read(max(CHUNK_BYTES, buffered))
        if not chunk:
            raise _UnreadableError("the file is truncated")
        self._buffer = self._buffer[self._start :] + chunk
        self._offset += self._start
        self._start, self._scan = 0, self._scan - self._start
        self._is_new = True

    def _scanned(self) -> Iterator[tuple[int, bytes]]:
        """Yield the scanned text since the last item, unless it is only a comma."""
        data = self._buffer[self._start : self._scan].lstrip(WHITE + b",")
        self._start = self._scan
        if data:
            yield self.position - len(data), data.rstrip(WHITE + b",")

    def _expect_end(self) -> None:
        rest = self._buffer[self._scan :]
        while not rest.strip(WHITE):
            rest = self._stream.read(CHUNK_BYTES)
            if not rest:
                return
        raise _UnreadableError("there is data after the end of the document")
