"""EPUB books: the chapters in the order in which they are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import unquote

from lxml import etree

from resources.extractors import html_reader
from resources.extractors.grouping import Part, grouped
from resources.extractors.unread import UnreadError
from resources.extractors.zipped import attribute, beside, local, require_bounded, xml_of

_CONTAINER, _LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of blocks of each chapter.

    Raises:
        UnreadError: The chapters are encrypted.
    """
    require_bounded(stream)
    with zipfile.ZipFile(stream) as book:
        root = next(one for one in xml_of(book.read(_CONTAINER)).iter() if local(one) == "rootfile")
        place = attribute(root, "full-path") or ""
        package = xml_of(book.read(place))
        for one in package.iter():
            if (name := {"title": "title", "creator": "author"}.get(local(one))) and one.text and name not in facts:
                facts[name] = " ".join(one.text.split())[:300]
        locked = _locked(book)
        chapters = [beside(place, unquote(link)) for link in _chapters(package)]
        if any(chapter in locked for chapter in chapters):
            raise UnreadError("its text is encrypted")
        known = {*book.namelist()}
        for number, chapter in enumerate((one for one in chapters if one in known), start=1):
            page = html_reader.parsed(io.BytesIO(book.read(chapter)), {})
            if page is not None:
                yield from grouped(html_reader.blocks(page), f"chapter-{number}-blocks")


def _chapters(package: etree._Element) -> Iterator[str]:
    """Yield the addresses of the chapters: those of the spine, which names items of the manifest."""
    items = {attribute(one, "id"): one for one in package.iter() if local(one) == "item"}
    for mark in (one for one in package.iter() if local(one) == "itemref"):
        item = items.get(attribute(mark, "idref"))
        if item is not None and attribute(item, "media-type") in _PAGES:
            yield attribute(item, "href") or ""


def _locked(book: zipfile.ZipFile) -> set[str]:
    if _LOCKS not in book.namelist():
        return set()
    links = (one for one in xml_of(book.read(_LOCKS)).iter() if local(one) == "CipherReference")
    return {unquote(attribute(one, "URI") or "") for one in links}
