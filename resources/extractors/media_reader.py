"""Images, sound and other files without text: only the size that the first bytes of an image give."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.grouping import Part
from resources.extractors.unread import UnreadError

_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG markers that begin a frame, which contains height and width."""


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Record an image's width and height; there is no text.

    Raises:
        UnreadError: Always.
    """
    try:
        found = _dimensions(stream, stream.read(32))
    except struct.error:  # the file ends within its header
        found = None
    if found is not None:
        facts["size"] = f"{found[0]:,} × {found[1]:,} pixels"
    raise UnreadError("no reader can extract text from it")


def _dimensions(stream: BinaryIO, head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG"):
        width, height = struct.unpack_from(">II", head, 16)
        return width, height
    if head.startswith(b"GIF8"):
        width, height = struct.unpack_from("<HH", head, 6)
        return width, height
    if head[8:16] == b"WEBPVP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head.startswith(b"\xff\xd8"):
        return _of_jpeg(stream)
    return None


def _of_jpeg(stream: BinaryIO) -> tuple[int, int] | None:
    stream.seek(2)
    while True:
        lead, marker, length = struct.unpack(">BBH", stream.read(4))
        if lead != 0xFF or length < 2:
            return None
        if marker in _FRAMES:
            height, width = struct.unpack(">xHH", stream.read(5))
            return width, height
        stream.seek(length - 2, 1)
