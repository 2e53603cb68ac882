"""Word documents: paragraphs and tables in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.grouping import Headings, Part, Piece, grouped
from resources.extractors.zipped import require_bounded


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of paragraphs; a row of a table counts as one."""
    require_bounded(stream)  # zipfile never delivers more of a member than its directory declares
    from docx import Document

    document = Document(stream)
    for name in ("title", "author"):
        if value := getattr(document.core_properties, name):
            facts[name] = str(value)[:300]
    yield from grouped(_paragraphs(document.iter_inner_content()), "paragraphs")


def _paragraphs(content: Iterator[object]) -> Iterator[Piece]:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    headings = Headings()
    for block in content:
        if isinstance(block, Paragraph):
            if block.text.strip():
                if level := _level(block.style.name if block.style is not None else None):
                    headings.enter(level, block.text)
                yield block.text, headings.section
        elif isinstance(block, Table):
            for row in block.rows:
                # A cell that spans several columns is listed once per column.
                cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
                yield " | ".join(text for text in cells if text), headings.section


def _level(style: str | None) -> int:
    """Return the level of a heading by the name of its style, which is English in every language; 0 for other text."""
    name, _, level = (style or "").rpartition(" ")
    if style == "Title":
        return 1
    return int(level) + 1 if name.lower() == "heading" and level in set("123456789") else 0
