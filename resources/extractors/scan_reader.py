"""Pages of a PDF without a text layer, such as scans: rendered by PDFium, and their words recognised."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.grouping import Part, cut
from resources.extractors.ocr import LONGEST_SIDE, Recognizer

_LARGEST_SCALE = 4.0
"""Pixels a point (1/72 inch) of small pages."""


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield the words of pages that have no text, by their number, until most of the time is over."""
    from pypdfium2 import PdfDocument

    document = PdfDocument(stream)
    recognizer = Recognizer(resource.getrlimit(resource.RLIMIT_CPU)[0])
    scanned = done = 0
    for number, page in enumerate(document, start=1):
        if page.get_textpage().count_chars():
            continue
        scanned += 1
        if not recognizer.has_time:
            continue
        scale = min(LONGEST_SIDE / max(*page.get_size(), 1.0), _LARGEST_SCALE)
        text = recognizer.text_of(page.render(scale=scale).to_pil())
        done += 1
        yield from cut(f"page-{number}", text, f"page {number}")
    if done:
        facts["pages read as images"] = f"{done:,}" if done == scanned else f"the first {done:,} of {scanned:,}"
