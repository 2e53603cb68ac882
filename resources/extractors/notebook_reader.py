"""Jupyter notebooks: text and code of the cells, with the results that are text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from resources.extractors.grouping import Headings, Part, Piece, grouped

_MOST_MARKS = 6
_LONGEST_RESULT = 4_000


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of cells."""
    import nbformat

    reads: Any = nbformat.reads  # without types
    book = reads(stream.read().decode("utf-8-sig"), as_version=4)
    language = book.metadata.get("kernelspec", {}).get("language") or book.metadata.get("language_info", {}).get("name")
    if language:
        facts["language"] = str(language)[:100]
    yield from grouped(_cells(book.cells), "cells")


def _cells(cells: list[Any]) -> Iterator[Piece]:
    headings = Headings()
    for cell in cells:
        source = str(cell.get("source", "")).strip()
        for line in source.splitlines() if cell.get("cell_type") == "markdown" else ():
            marks = len(line) - len(line.lstrip("#"))
            if 1 <= marks <= _MOST_MARKS and line[marks : marks + 1] == " ":
                headings.enter(marks, line[marks:])
        results = "\n".join(_results(cell.get("outputs", ())))
        if text := "\n".join(part for part in (source, results) if part.strip()):
            yield text, headings.section


def _results(outputs: list[Any]) -> Iterator[str]:
    for output in outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        if output.get("output_type") == "error":
            text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        yield ("".join(text) if isinstance(text, list) else str(text)).strip()[:_LONGEST_RESULT]
