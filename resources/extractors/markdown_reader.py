"""Markdown: groups of lines, unchanged, with the headings that they are below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import Headings, Part, Piece, grouped

_MOST_MARKS = 6
_FENCES = ("```", "~~~")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of lines, with their numbers."""
    return grouped(_lines(open_text(stream, facts)), "lines")


def _lines(text: Iterable[str]) -> Iterator[Piece]:
    headings, fence = Headings(), ""
    for line in text:
        line = line.rstrip("\r\n")
        begin = line.lstrip(" ")[:3]
        if begin in _FENCES and fence in ("", begin):  # of a block of code, in which a number sign is no heading
            fence = "" if fence else begin
        marks = len(line) - len(line.lstrip("#"))
        if not fence and 1 <= marks <= _MOST_MARKS and line[marks : marks + 1] in (" ", "\t"):
            title = line[marks:].strip().rstrip("#").rstrip()
            if title:
                headings.enter(marks, title)
        yield line, headings.section
