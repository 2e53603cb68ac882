"""Plain text, Markdown and code: groups of lines, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import grouped


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield groups of lines, with their numbers."""
    return grouped((line.rstrip("\r\n") for line in open_text(stream, facts)), "lines")
