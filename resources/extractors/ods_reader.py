"""OpenDocument spreadsheets: each row with the names of its columns, and each value as the sheet shows it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import BinaryIO

from lxml import etree

from resources.extractors.grouping import Part, grouped
from resources.extractors.odf_reader import opened
from resources.extractors.sheets_reader import LONGEST_NAME, LONGEST_NAMES, rows_of
from resources.extractors.zipped import attribute, local

_MOST_COLUMNS = 16_384
_CELLS = ("table-cell", "covered-table-cell")
_UNSEEN = ("annotation", "tracked-changes")
_GAPS = ("s", "tab", "line-break")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of rows of each sheet, hidden ones included; rows without any value are not counted."""
    content, _ = opened(stream, facts)
    sheets = [one for book in content.iter() if local(book) == "spreadsheet" for one in book if local(one) == "table"]
    names = [attribute(sheet, "name") or "" for sheet in sheets]
    facts["sheets"] = ", ".join(names)[:LONGEST_NAMES]
    for number, (sheet, name) in enumerate(zip(sheets, names, strict=True), start=1):
        section = f"sheet {' '.join(name.split())[:LONGEST_NAME]}"
        yield from grouped(((row, section) for row in rows_of(_rows(sheet))), f"sheet-{number}-rows")
        yield from grouped(((text, section) for text in _comments(sheet)), f"sheet-{number}-comments")


def _comments(sheet: etree._Element) -> Iterator[str]:
    """Yield the comments beside cells."""
    for note in (one for one in sheet.iter() if local(one) == "annotation"):
        lines = (_words(one) for one in note.iter() if local(one) == "p")
        if text := " ".join(" ".join(lines).split()):
            yield f"Comment: {text}"


def _rows(sheet: etree._Element) -> Iterator[list[str]]:
    for row in (one for one in sheet.iter() if local(one) == "table-row"):
        values = list[str]()
        for cell in (one for one in row if local(one) in _CELLS):
            value, times = _text_of(cell), int(attribute(cell, "number-columns-repeated") or 1)
            if value and len(values) + times > _MOST_COLUMNS:
                raise ValueError(f"a row has more than {_MOST_COLUMNS:,} columns")
            values += [value] * min(times, _MOST_COLUMNS)
        if any(values):
            yield from repeat(values, int(attribute(row, "number-rows-repeated") or 1))


def _text_of(cell: etree._Element) -> str:
    """Return the text that a cell shows; without one, its value."""
    lines = (_words(one) for one in cell if local(one) == "p")
    text = " ".join(" ".join(lines).split())
    value = (attribute(cell, name) for name in ("string-value", "value", "date-value", "time-value", "boolean-value"))
    return text or next((one for one in value if one), "")


def _words(element: etree._Element) -> str:
    inner = ("" if local(one) in _UNSEEN else " " if local(one) in _GAPS else _words(one) for one in element)
    tails = (one.tail or "" for one in element)
    return (element.text or "") + "".join(f"{one}{tail}" for one, tail in zip(inner, tails, strict=True))
