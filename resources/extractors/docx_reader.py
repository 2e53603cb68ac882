"""Word documents: paragraphs and tables in their order, with all else that a reader of the page sees.

``python-docx`` opens the package; its texts leave out controls, tracked insertions, text boxes and more, so the XML of
each part is read here. Deleted and hidden text is left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from lxml import etree

from neurigraph_pipelines.text.encodings import decoded
from neurigraph_pipelines.text.raised import raised
from resources.extractors import html_reader
from resources.extractors.formulas import FORMULA, formula, joined
from resources.extractors.grouping import Headings, Part, Piece, columns_of, grouped, row_of
from resources.extractors.pptx_reader import words_of_chart
from resources.extractors.zipped import attribute, local, require_bounded, xml_of

_UNSEEN = {"del", "moveFrom", "delText", "instrText", "delInstrText", "rPr", "pPr", "sdtPr", "rt", "annotationRef"}
"""Elements whose text nobody sees: deleted, moved away, codes of fields, properties, and readings above characters."""

_MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SYMBOLS = {"F0FC": "✓", "F0FB": "✗", "F0FE": "☑", "F0FD": "☒", "F0A8": "☐", "F06F": "☐", "F0E0": "→", "F0B7": "•"}
"""Characters of the fonts of symbols, by their numbers."""

_BLOCKS = ("p", "tbl")
_SEPARATORS = ("separator", "continuationSeparator", "continuationNotice")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of paragraphs: headers, the text, notes, comments and footers. A row of a table counts as one."""
    require_bounded(stream)  # zipfile never delivers more of a member than its directory declares
    from docx.package import Package

    package = Package.open(stream)  # also documents with macros and templates, which ``docx.Document`` refuses
    for name in ("title", "author"):
        if value := getattr(package.core_properties, name):
            facts[name] = str(value)[:300]
    parts = [(_kind(one.content_type), one.blob) for one in sorted(package.iter_parts(), key=lambda one: one.partname)]
    words = _Words([xml_of(blob) for kind, blob in parts if kind == "styles"])
    body = xml_of(package.main_document_part.blob)
    yield from grouped(_pieces(words, body, parts), "paragraphs")
    if any(local(one) == "altChunk" for one in body.iter()):
        yield from _inserted(package.main_document_part.rels.values(), facts)


def _inserted(relations: Iterable[Any], facts: dict[str, str]) -> Iterator[Part]:
    """Yield the words of whole files that a program has put into the document; Word shows them as its text."""
    for number, one in enumerate((one for one in relations if one.reltype.endswith("/aFChunk")), start=1):
        part = one.target_part
        kind = part.content_type.partition(";")[0]
        if kind in ("text/html", "application/xhtml+xml"):
            root = html_reader.parsed(io.BytesIO(part.blob), {})
            yield from grouped(html_reader.blocks(root) if root is not None else (), f"inserted-{number}-blocks")
        elif kind == "text/plain":
            text = decoded(part.blob)[0]
            yield from grouped(((line, None) for line in text.splitlines() if line.strip()), f"inserted-{number}-lines")
        elif kind.endswith("wordprocessingml.document.main+xml") or part.blob.startswith(b"PK"):
            for place, text, section in read(io.BytesIO(part.blob), {}):
                yield f"inserted-{number}-{place}", text, section
        else:
            facts["words read"] = f"without those of an inserted file of the type {kind[:80]}"


def _kind(content_type: str) -> str:
    """Return the last word of a content type, such as ``header``."""
    return content_type.rpartition(".")[2].partition("+")[0]


def _pieces(words: _Words, body: etree._Element, parts: list[tuple[str, bytes]]) -> Iterator[Piece]:
    for name in ("header", "body", "diagramData", "chart", "footnotes", "endnotes", "comments", "footer"):
        if name == "body":
            yield from words.pieces(body, Headings())
            continue
        seen = set[str]()
        for text, _ in (piece for kind, blob in parts if kind == name for piece in _of_part(words, name, blob)):
            if text not in seen:  # each section of a document has its own copy
                seen.add(text)
                yield text, None


def _of_part(words: _Words, name: str, blob: bytes) -> Iterator[Piece]:
    root = xml_of(blob)
    if name == "chart":
        yield from ((text, None) for text in words_of_chart(root))
        return
    if name == "diagramData":
        for paragraph in (one for one in root.iter() if local(one) == "p"):
            if text := "".join(one.text or "" for one in paragraph.iter() if local(one) == "t").strip():
                yield text, None
        return
    yield from words.pieces(root, Headings())


class _Words:
    """The visible words of the parts of a document.

    Args:
        styles: The roots of its styles.
    """

    def __init__(self, styles: Iterable[etree._Element]) -> None:
        self._levels: dict[str, int] = {}
        self._hidden: set[str] = set()
        for style in (one for root in styles for one in root if local(one) == "style"):
            key = attribute(style, "styleId") or ""
            names = [attribute(one, "val") for one in style if local(one) == "name"]
            self._levels[key] = _level(names[0] if names else None)
            if any(_is_on(one) for one in style.iter() if local(one) == "vanish"):
                self._hidden.add(key)

    def pieces(self, root: etree._Element, headings: Headings) -> Iterator[Piece]:
        """Yield the paragraphs and rows below an element."""
        for block in _blocks(root):
            if local(block) == "tbl":
                yield from ((row, headings.section) for row in self._rows(block))
                continue
            text, boxes = self._paragraph(block)
            if text.strip():
                if level := self._levels.get(_style(block, "pPr", "pStyle"), 0):
                    headings.enter(level, text)
                yield text, headings.section
            for box in boxes:
                yield from self.pieces(box, headings)

    def _rows(self, table: etree._Element) -> Iterator[str]:
        """Yield the rows of a table, each followed by the tables and boxes in it."""
        for row in _inside(table, ("tr",)):
            if any(local(one) == "del" for one in _properties(row, "trPr")):
                continue
            cells, inner = [""] * columns_of(_style(row, "trPr", "gridBefore"), 0), list[str]()
            for cell in _inside(row, ("tc",)):
                lines = list[str]()
                for block in _blocks(cell):
                    if local(block) == "tbl":
                        inner += self._rows(block)
                        continue
                    text, boxes = self._paragraph(block)
                    lines.append(text)
                    inner += (piece for box in boxes for piece, _ in self.pieces(box, Headings()))
                cells.append("\n".join(lines).strip())
                cells += [""] * (columns_of(_style(cell, "tcPr", "gridSpan")) - 1)
            if text := row_of(cells):
                yield text
            yield from inner

    def _paragraph(self, paragraph: etree._Element) -> tuple[str, list[etree._Element]]:
        """Return the words of a paragraph, and the text boxes that hang on it."""
        boxes: list[etree._Element] = []
        if _style(paragraph, "pPr", "pStyle") in self._hidden:
            return "", boxes
        return joined(self._inline(paragraph, boxes)), boxes

    def _inline(self, parent: etree._Element, boxes: list[etree._Element]) -> Iterator[str]:
        for element in _chosen(parent):
            name = local(element)
            if name in _UNSEEN or (name == "r" and self._is_hidden(element)) or _is_placeholder(element):
                continue
            if name == "t":
                yield element.text or ""
            elif name == FORMULA:
                yield formula(element)
            elif name == "r" and _is_raised(element):
                yield from map(raised, self._inline(element, boxes))
            elif name == "txbxContent":
                boxes.append(element)
            elif name in _MARKS:
                yield _MARKS[name]
            elif name == "sym":
                yield _SYMBOLS.get((attribute(element, "char") or "").upper(), "")
            elif name == "textpath":
                yield attribute(element, "string") or ""
            elif name == "docPr" and (described := " ".join((attribute(element, "descr") or "").split())):
                yield f"[image: {described}]"
            else:
                yield from self._inline(element, boxes)

    def _is_hidden(self, run: etree._Element) -> bool:
        marks = [one for one in _properties(run, "rPr") if local(one) == "vanish"]
        return any(map(_is_on, marks)) if marks else _style(run, "rPr", "rStyle") in self._hidden


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield the paragraphs and tables below an element, through controls and other wrappers."""
    return _inside(parent, _BLOCKS)


def _inside(parent: etree._Element, names: Iterable[str]) -> Iterator[etree._Element]:
    for element in _chosen(parent):
        name = local(element)
        if name in names:
            yield element
        elif name not in _UNSEEN and not _is_placeholder(element) and attribute(element, "type") not in _SEPARATORS:
            yield from _inside(element, names)


def _chosen(parent: etree._Element) -> Iterator[etree._Element]:
    """Yield the children; of alternatives for programs of different age, the newest."""
    for element in parent:
        if local(element) == "AlternateContent":
            choices = [one for one in element if local(one) == "Choice"] or list(element)
            yield from _chosen(choices[0]) if choices else ()
        else:
            yield element


def _properties(element: etree._Element, name: str) -> list[etree._Element]:
    return [one for properties in element if local(properties) == name for one in properties]


def _style(element: etree._Element, properties: str, name: str) -> str:
    return next((attribute(one, "val") or "" for one in _properties(element, properties) if local(one) == name), "")


def _is_raised(run: etree._Element) -> bool:
    return any(local(one) == "vertAlign" and attribute(one, "val") == "superscript" for one in _properties(run, "rPr"))


def _is_on(mark: etree._Element) -> bool:
    return attribute(mark, "val") not in ("0", "false", "off")


def _is_placeholder(element: etree._Element) -> bool:
    """Return whether a control asks for a text that nobody has written."""
    return local(element) == "sdt" and any(local(one) == "showingPlcHdr" for one in _properties(element, "sdtPr"))


def _level(style: str | None) -> int:
    """Return the level of a heading by the name of its style, which is English in every language; 0 for other text."""
    name, _, level = (style or "").rpartition(" ")
    if style == "Title":
        return 1
    return int(level) + 1 if name.lower() == "heading" and level in set("123456789") else 0
