"""Spreadsheets of Excel: each row with the names of its columns, sheet by sheet.

Cells have the values that the file keeps. Nothing computes a formula, runs a macro or follows a link.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import BinaryIO

from resources.extractors.csv_reader import named
from resources.extractors.grouping import Part, Piece, grouped
from resources.extractors.zipped import attribute, local, require_bounded, xml_of

LONGEST_NAME, LONGEST_NAMES = 100, 1_000
_DIGITS = 15
"""Digits that a spreadsheet keeps of a number."""

_COMMENTS = re.compile(r"xl/(?:comments/?|threadedComments/)[^/]*\.xml")

_Cell = int | float | str | bool | datetime | date | time | timedelta


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of rows of each sheet, hidden ones included; rows without any value are not counted."""
    require_bounded(stream)  # a directory that lies meets the limit of the process's memory
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    book = CalamineWorkbook.from_filelike(stream)
    names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    facts["sheets"] = ", ".join(names)[:LONGEST_NAMES]
    for number, name in enumerate(names, start=1):
        section = f"sheet {' '.join(name.split())[:LONGEST_NAME]}"
        rows = ([_text_of(cell) for cell in row] for row in book.get_sheet_by_name(name).iter_rows())
        yield from grouped(((row, section) for row in rows_of(rows)), f"sheet-{number}-rows")
    yield from grouped(_comments(stream), "comments")


def _comments(stream: BinaryIO) -> Iterator[Piece]:
    """Yield the comments beside cells, of a workbook that is a zip of XML."""
    stream.seek(0)
    if not zipfile.is_zipfile(stream):
        return
    with zipfile.ZipFile(stream) as book:
        names = [name for name in book.namelist() if _COMMENTS.fullmatch(name)]
        threads = [name for name in names if "threaded" in name.lower()]
        for name in sorted(names):
            if name.startswith("xl/comments") and threads:  # they say it again, for older programs
                continue
            for one in (one for one in xml_of(book.read(name)).iter() if local(one) in ("comment", "threadedComment")):
                words = "".join(part.text or "" for part in one.iter() if local(part) in ("t", "text"))
                if text := " ".join(words.split()):
                    yield f"Comment on {attribute(one, 'ref') or 'a cell'}: {text}", "comments"


def rows_of(rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield each row as text. The first with several values is the heading; above it are titles."""
    heading: list[str] = []
    for values in rows:
        filled = [value for value in values if value]
        if heading and filled:
            yield named(values, heading)
        elif filled:
            yield " | ".join(filled)
            heading = values if len(filled) > 1 else []


def _text_of(cell: _Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return f"{cell:.{_DIGITS}g}"
    if isinstance(cell, datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    return " ".join(str(cell).split())
