"""Exports of Evernote (.enex): each note with its date and tags."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from lxml import etree

from resources.extractors import html_reader
from resources.extractors.grouping import Part, Piece, grouped
from resources.extractors.zipped import local

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)")
_LONGEST_TITLE = 100


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of blocks of each note."""
    found = 0
    notes = etree.iterparse(stream, ("end",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    for _, note in notes:
        if local(note) == "note":
            found += 1
            yield from grouped(_pieces(note), f"note-{found}-blocks")
            note.clear()
        elif local(note) == "data":  # of an attachment, which may be large
            note.clear()
    if not found:
        raise ValueError("there is no note in it")
    facts["notes"] = f"{found:,}"


def _pieces(note: etree._Element) -> Iterator[Piece]:
    title = " ".join((note.findtext("title") or "").split())
    section = title[:_LONGEST_TITLE] or None
    tags = [tag.text for tag in note.iterfind("tag") if tag.text]
    made = _TIME.match((note.findtext("created") or "").strip())
    head = [title, f"{made[1]}-{made[2]}-{made[3]} {made[4]}:{made[5]}" if made else "", ", ".join(tags)]
    yield "; ".join(part for part in head if part), section
    content = (note.findtext("content") or "").encode("utf-8", "replace")
    page = html_reader.parsed(io.BytesIO(content), {}) if content.strip() else None
    if page is not None:
        for one in page.iter("en-todo"):
            one.tag, one.text = "span", "[x] " if one.get("checked") == "true" else "[ ] "
        for one in page.iter("en-crypt"):
            one.tag, one.text = "span", "[encrypted text]"
        for text, _ in html_reader.blocks(page):
            yield text, section
    for name in note.iterfind("resource/resource-attributes/file-name"):
        yield f"[attached: {' '.join((name.text or '').split())}]", section
