"""Decode text of an unknown encoding."""

from __future__ import annotations

import io
from typing import BinaryIO, TextIO

from neurigraph_pipelines.text import encodings

_READ_BYTES = 1 << 22


def open_text(stream: BinaryIO, facts: dict[str, str]) -> TextIO:
    """Open a seekable byte stream as text, and record an encoding that was assumed.

    Raises:
        UnreadableFileError: Its encoding is not recognised.
    """
    return io.TextIOWrapper(stream, encoding_of(stream, facts), errors="replace", newline="")


def encoding_of(stream: BinaryIO, facts: dict[str, str]) -> str:
    """Return the encoding of a seekable stream, which is at its beginning afterwards.

    Raises:
        UnreadableFileError: It is not recognised.
    """
    codec = ""
    while data := stream.read(_READ_BYTES) + stream.readline(_READ_BYTES):  # whole lines, whole characters
        found = encodings.encoding_of(data, is_cut=len(data) >= _READ_BYTES)
        codec = codec if codec and found.codec == "utf-8" else found.codec
        if found.said is not None:
            facts["encoding"] = found.said
        if codec != "utf-8":
            break
    stream.seek(0)
    return codec or "utf-8"
