"""OpenDocument texts and presentations: paragraphs and tables in their order, with notes, boxes and comments.

Deleted text of tracked changes and hidden text are left out.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from resources.extractors.grouping import Headings, Part, Piece, columns_of, grouped, row_of
from resources.extractors.unread import UnreadError
from resources.extractors.zipped import attribute, local, require_bounded, xml_of

_UNSEEN = set("tracked-changes hidden-text hidden-paragraph ruby-text note-citation forms".split())
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
"""Names of the writer and the date of a comment; fields of the text with the same names are words of it."""

_APART = {"note": "Note", "annotation": "Comment", "text-box": "", "table": "", "notes": "Notes"}
"""Elements within a paragraph or slide whose words follow it, with the word that marks them."""

_LONGEST_REPEAT = 1_000


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of paragraphs: of the page's header, the text or slides, and the footer."""
    content, styles = opened(stream, facts)
    hidden = {name for root in (content, styles) for name in _hidden_styles(root)}
    body = next((one for one in content.iter() if local(one) == "body"), content)
    slides = [one for one in body.iter() if local(one) == "page"]
    if slides:
        facts["slides"] = str(len(slides))
    for number, slide in enumerate(slides, start=1):
        name = f"slide {number} {attribute(slide, 'name') or ''}".strip()
        texts = [(text, name) for text, _ in _pieces(slide, Headings(), hidden)]
        yield from grouped(texts, f"slide-{number}-paragraphs")
    if not slides:
        yield from grouped(_document(body, styles, hidden), "paragraphs")


def opened(stream: BinaryIO, facts: dict[str, str]) -> tuple[etree._Element, etree._Element]:
    """Return the roots of the content and of the styles of an OpenDocument file.

    Raises:
        UnreadError: It is encrypted.
    """
    require_bounded(stream)
    from odfdo import Document

    container = Document(io.BytesIO(stream.read())).container
    assert container is not None
    parts = container.get_parts()

    def part(name: str) -> bytes:
        found = container.get_part(name) if name in parts else b""
        return found if isinstance(found, bytes) else str(found).encode()

    if b"encryption-data" in part("META-INF/manifest.xml"):
        raise UnreadError("it is protected by a password")
    content = xml_of(part("content.xml"))
    if "meta.xml" in parts:
        for one in xml_of(part("meta.xml")).iter():
            if (name := {"title": "title", "initial-creator": "author"}.get(local(one))) and one.text:
                facts[name] = one.text[:300]
    return content, xml_of(part("styles.xml")) if "styles.xml" in parts else content


def _hidden_styles(root: etree._Element) -> Iterator[str]:
    for style in root.iter():
        if local(style) == "style" and any(attribute(one, "display") == "none" for one in style):
            yield attribute(style, "name") or ""


def _document(body: etree._Element, styles: etree._Element, hidden: set[str]) -> Iterator[Piece]:
    pages = [one for one in styles.iter() if local(one) == "master-page"]
    for prefix in ("header", "footer"):
        if prefix == "footer":
            yield from _pieces(body, Headings(), hidden)
        parts = (one for page in pages for one in page if local(one).startswith(prefix))
        texts = (text for one in parts for text, _ in _pieces(one, Headings(), hidden))
        yield from ((text, None) for text in dict.fromkeys(texts))


def _pieces(parent: etree._Element, headings: Headings, hidden: set[str]) -> Iterator[Piece]:
    """Yield the paragraphs and rows below an element."""
    for element in parent:
        name = local(element)
        if not name or _is_unseen(element) or attribute(element, "display") == "none":
            continue
        if name in ("p", "h"):
            apart: list[etree._Element] = []
            text = "".join(_inline(element, apart, hidden)).strip()
            if text and name == "h":
                headings.enter(int(attribute(element, "outline-level") or 1), text)
            if text:
                yield text, headings.section
            for one in apart:
                yield from _marked(one, headings, hidden)
        elif name == "table-row":
            yield from _row(element, headings, hidden)
        elif name in ("note", "annotation", "notes"):
            yield from _marked(element, headings, hidden)
        else:
            yield from _pieces(element, headings, hidden)


def _is_unseen(element: etree._Element) -> bool:
    return local(element) in _UNSEEN or str(element.tag).startswith(_DUBLIN_CORE)


def _marked(element: etree._Element, headings: Headings, hidden: set[str]) -> Iterator[Piece]:
    mark = _APART[local(element)]
    for text, section in _pieces(element, headings, hidden):
        if text != "<number>":
            yield f"{mark}: {text}" if mark else text, section


def _row(row: etree._Element, headings: Headings, hidden: set[str]) -> Iterator[Piece]:
    cells = list[str]()
    for cell in (one for one in row if local(one) in ("table-cell", "covered-table-cell")):
        is_seen = local(cell) == "table-cell"
        text = "\n".join(text for text, _ in _pieces(cell, headings, hidden)) if is_seen else ""
        cells += [text] * columns_of(attribute(cell, "number-columns-repeated"))
    if text := row_of(cells):
        yield text, headings.section


def _inline(parent: etree._Element, apart: list[etree._Element], hidden: set[str]) -> Iterator[str]:
    yield parent.text or ""
    for element in parent:
        name = local(element)
        if name == "s":
            yield " " * min(int(attribute(element, "c") or 1), _LONGEST_REPEAT)
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "\n"
        elif name in _APART:
            apart.append(element)
        elif name and not _is_unseen(element) and attribute(element, "style-name") not in hidden:
            yield from _inline(element, apart, hidden)
        yield element.tail or ""
