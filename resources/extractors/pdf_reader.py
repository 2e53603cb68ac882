"""PDF: the text layer, page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.grouping import Part, cut
from resources.extractors.unread import UnreadError


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield pages by their number; a very long page in several parts."""
    from pypdf import PdfReader

    logging.disable()  # pypdf warns about every defect of a file
    document = PdfReader(stream)
    if document.is_encrypted and not document.decrypt(""):
        raise UnreadError("it is protected by a password")
    facts["pages"] = str(len(document.pages))
    for name in ("title", "author"):
        if value := getattr(document.metadata, name, None):
            facts[name] = str(value)[:300]
    unreadable: list[int] = []
    empty = True
    for number, page in enumerate(document.pages, start=1):
        try:
            text = page.extract_text()
        except (MemoryError, RecursionError):
            raise
        except Exception:  # one broken page must not lose the others
            unreadable.append(number)
            continue
        empty = empty and not text.strip()
        yield from cut(f"page-{number}", text, f"page {number}")
    if unreadable:
        facts["damaged pages"] = ", ".join(map(str, unreadable))[:300]
    if empty:
        raise UnreadError("its pages contain no text, such as scanned pages")
