"""Web pages: the visible text, block by block."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree, html

from neurigraph_pipelines.text.encodings import decoded
from neurigraph_pipelines.text.raised import raised
from resources.extractors.grouping import Headings, Part, Piece, columns_of, grouped, row_of

_HEAD_BYTES = 1_024
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_UNSEEN = {"script", "style", "template", "noscript", "head", "svg", "iframe", "object"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_CELLS = ("td", "th")
_MOST_BLOCKS = 3
"""Paragraphs of a cell; one with more lays out a page."""

_INLINE = set(
    "a abbr b bdi bdo button cite code data del dfn em font i img input ins kbd label mark q s samp small span strong "
    "sub sup time tt u var wbr".split()
)


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of blocks: paragraphs, headings, cells, items."""
    root = parsed(stream, facts)
    if root is not None:
        yield from grouped(blocks(root), "blocks")


def parsed(stream: BinaryIO, facts: dict[str, str]) -> etree._Element | None:
    """Return the root of a page, and record its title; None for one without elements."""
    stated = _CHARSET.search(stream.read(_HEAD_BYTES))
    stream.seek(0)
    data = stream.read()
    text, said = decoded(data, stated[1].decode("ascii", "replace") if stated else None)
    if said is not None:
        facts["encoding"] = said
    stream = io.BytesIO(text.encode("utf-8", "replace"))
    parser = html.HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    tree = etree.parse(stream, parser)
    if parser.error_log.filter_from_fatals():  # deeper than 2,048 elements, the parser stops and keeps what it has
        facts["cut short"] = "where its elements are nested too deeply"
    root = tree.getroot()
    if root is None:
        return None
    title = " ".join((root.findtext(".//title") or "").split())
    if title:
        facts["title"] = title[:300]
    return root


def lines_of(text: str) -> list[str]:
    """Return the visible text of a page, block by block."""
    root = parsed(io.BytesIO(text.encode("utf-8", "replace")), {}) if text.strip() else None
    return [block for block, _ in blocks(root)] if root is not None else []


def blocks(root: etree._Element) -> Iterator[Piece]:
    """Yield the text of each block and of each row of a table; without recursion, because pages may nest deeply."""
    reader = _Blocks()
    for event, element in etree.iterwalk(root, events=("start", "end")):
        yield from reader.start(element) if event == "start" else reader.end(element)
    yield from reader.end_block(None)


class _Row:
    """A row of a table that is being read."""

    def __init__(self) -> None:
        self.cells: list[list[Piece]] = []
        self.is_layout = False

    def pieces(self) -> Iterator[Piece]:
        """Yield the row as one piece, or the pieces of its cells if the table only lays out a page."""
        is_alone = sum(map(bool, self.cells)) == 1
        if is_alone or self.is_layout or any(len(cell) > _MOST_BLOCKS for cell in self.cells):
            for cell in self.cells:
                yield from cell
        elif row := row_of(" ".join(text for text, _ in cell) for cell in self.cells):
            yield row, next(section for cell in self.cells for _, section in cell)


class _Blocks:
    """Collects the words of a page into blocks."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._headings = Headings()
        self._hidden = 0
        self._rows: list[_Row] = []

    def start(self, element: etree._Element) -> Iterator[Piece]:
        """Enter an element; a block element ends the block before it."""
        if element.tag not in _INLINE:
            yield from self.end_block(None)
        self._hidden += element.tag in _UNSEEN
        if self._hidden:
            return
        if element.tag == "tr":
            self._rows.append(_Row())
        elif element.tag in _CELLS and self._rows:
            self._rows[-1].cells.append([])
        elif element.tag in (*HEADINGS, "table") and self._rows:
            self._rows[-1].is_layout = True
        text = element.text or ""
        self._words.append(raised(text) if element.tag == "sup" else text)

    def end(self, element: etree._Element) -> Iterator[Piece]:
        """Leave an element."""
        if element.tag not in _INLINE:
            yield from self.end_block(element.tag if element.tag in HEADINGS else None)
        self._hidden -= element.tag in _UNSEEN
        if self._hidden:
            return
        if element.tag in _CELLS and self._rows:
            self._rows[-1].cells += [[] for _ in range(columns_of(element.get("colspan")) - 1)]
        elif element.tag == "tr" and self._rows:
            for piece in self._rows.pop().pieces():
                yield from self._placed(piece)
        self._words.append(element.tail or "")

    def end_block(self, heading: str | None) -> Iterator[Piece]:
        """End the block of the words so far; one of a heading begins a section."""
        block = " ".join("".join(self._words).split())
        self._words.clear()
        if block and heading is not None:
            self._headings.enter(int(heading[1]), block)
        if block:
            yield from self._placed((block, self._headings.section))

    def _placed(self, piece: Piece) -> Iterator[Piece]:
        """Put a piece into the row that is being read; without one, yield it."""
        if self._rows:
            row = self._rows[-1]
            row.cells = row.cells or [[]]
            row.cells[-1].append(piece)
        else:
            yield piece
