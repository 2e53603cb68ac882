"""Web pages: the visible text, block by block."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree, html

from neurigraph_pipelines.text.encodings import decoded
from resources.extractors.formulas import raised
from resources.extractors.grouping import Headings, Part, Piece, grouped

_HEAD_BYTES = 1_024
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE)
_UNSEEN = {"script", "style", "template", "noscript", "head", "svg", "iframe", "object"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
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
    """Yield the text of each block; without recursion, because pages may be nested very deeply."""
    words: list[str] = []
    headings, hidden = Headings(), 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        unseen = element.tag in _UNSEEN
        if element.tag not in _INLINE and (block := " ".join("".join(words).split())):
            if event == "end" and element.tag in HEADINGS:
                headings.enter(int(element.tag[1]), block)
            yield block, headings.section
        if element.tag not in _INLINE:
            words.clear()
        if event == "start":
            hidden += unseen
            if not hidden:
                text = element.text or ""
                words.append(raised(text) if element.tag == "sup" else text)
        else:
            hidden -= unseen
            if not hidden:
                words.append(element.tail or "")
    if block := " ".join("".join(words).split()):
        yield block, headings.section
