"""Plain text, Markdown and code: as they are, some lines at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.decoding import opened
from resources.extractors.grouping import grouped


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Groups of lines, with their numbers."""
    return grouped((line.rstrip("\r\n") for line in opened(stream, facts)), "lines")
