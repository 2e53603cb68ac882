"""CSV tables: each row with the names of its columns, so that a row makes sense by itself."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import BinaryIO, TextIO

from resources.extractors.decoding import open_text
from resources.extractors.grouping import Part, grouped

_SAMPLE_CHARACTERS = 16_384
_WIDEST_FIELD = 1_000_000


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of rows, numbered from 1 after the heading."""
    csv.field_size_limit(_WIDEST_FIELD)
    text = open_text(stream, facts)
    return grouped(((row, None) for row in _rows(text, facts)), "rows")


def _rows(text: TextIO, facts: dict[str, str]) -> Iterator[str]:
    sample = text.read(_SAMPLE_CHARACTERS)
    text.seek(0)
    rows = csv.reader(text, _dialect(sample))
    heading = next(rows, [])
    facts["columns"] = ", ".join(heading)[:1_000]
    for row in rows:
        yield named(row, heading)


def named(row: Iterable[str], heading: Iterable[str]) -> str:
    """Return the values of a row with the names of their columns; values beyond the heading have none."""
    cells = zip(row, chain(heading, repeat("")), strict=False)  # as long as the row, however wide the heading is
    return "; ".join(f"{name}: {value}" if name else value for value, name in cells if value)


def _dialect(sample: str) -> type[csv.Dialect] | str:
    try:
        return csv.Sniffer().sniff(sample, delimiters=",;\t|")
    except csv.Error:
        return "excel"
