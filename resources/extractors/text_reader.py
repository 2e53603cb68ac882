"""Plain text and code: groups of lines, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import Part, grouped


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of lines, with their numbers."""
    return grouped(((line.rstrip("\r\n"), None) for line in open_text(stream, facts)), "lines")
