"""Decode text of an unknown encoding."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, TextIO

# UTF-32 first: its mark begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_READ_BYTES = 1 << 20


def open_text(stream: BinaryIO, facts: dict[str, str]) -> TextIO:
    """Open a seekable byte stream as text: by its byte order mark, as UTF-8, else as Windows-1252."""
    encoding = encoding_of(stream)
    if encoding == "cp1252":
        facts["encoding"] = "taken as Windows-1252"
    return io.TextIOWrapper(stream, encoding, errors="replace", newline="")


def encoding_of(stream: BinaryIO) -> str:
    """Return the encoding of a seekable stream, which is at its beginning afterwards."""
    start = stream.read(4)
    stream.seek(0)
    encoding = next((name for mark, name in _MARKS if start.startswith(mark)), None)
    if encoding is None:
        encoding = "utf-8" if _is_utf8(stream) else "cp1252"
        stream.seek(0)
    return encoding


def _is_utf8(stream: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := stream.read(_READ_BYTES):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
