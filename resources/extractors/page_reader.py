"""Fetched web pages: the main text by trafilatura, without menus, notices and footers.

A page in which it recognises no main text, such as a list of links, is read as a whole by ``html_reader``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from resources.extractors import html_reader
from resources.extractors.grouping import Part, grouped

_NAMES = {"head": "h6", "hi": "span", "ref": "span", "lb": "br", "row": "tr", "cell": "td"}
"""HTML's names of the elements that trafilatura writes."""


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of blocks of the main text."""
    body = _main(stream, facts)
    if body is None:
        facts["main text"] = "not recognised, so the whole page was read"
        stream.seek(0)
        yield from html_reader.read(stream, facts)
        return
    for element in body.iter(*_NAMES):
        level = element.get("rend", "") if element.tag == "head" else ""
        element.tag = level if level in html_reader.HEADINGS else _NAMES[str(element.tag)]
    yield from grouped(html_reader.blocks(body), "blocks")


def _main(stream: BinaryIO, facts: dict[str, str]) -> etree._Element | None:
    from trafilatura import bare_extraction

    root = html_reader.parsed(stream, facts)
    if root is None:
        return None
    try:
        found = bare_extraction(root, include_comments=False, include_tables=True, favor_recall=True)
    except MemoryError:
        raise
    except Exception:  # the whole page can be read nevertheless
        return None
    if found is None or isinstance(found, dict) or not "".join(map(str, found.body.itertext())).strip():
        return None
    return found.body
