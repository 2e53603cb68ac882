"""Images: the words that are recognised in them, frame by frame of a TIFF file."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import BinaryIO

from resources.extractors.grouping import Part, cut
from resources.extractors.ocr import LONGEST_SIDE, Recognizer
from resources.extractors.unread import UnreadError

MOST_PIXELS = 40_000_000
"""Pixels of the largest image that is read, 120 MB when unpacked; scans of A4 at 600 dpi are smaller."""


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield the words of each frame.

    Raises:
        UnreadError: The image is too large, or no word was recognised.
    """
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # checked below, before anything is unpacked
    image = Image.open(stream)
    if image.width * image.height > MOST_PIXELS:
        raise UnreadError(f"it has more than {MOST_PIXELS:,} pixels, too many to read its words")
    recognizer = Recognizer(resource.getrlimit(resource.RLIMIT_CPU)[0])
    frames = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    empty, done = True, 0
    while done < frames and recognizer.has_time:
        image.seek(done)
        if image.width * image.height > MOST_PIXELS:
            break
        done += 1
        page = ImageOps.exif_transpose(image).convert("RGB")
        page.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        text = recognizer.text_of(page)
        empty = empty and not text
        yield from cut(f"page-{done}" if frames > 1 else "image", text, f"page {done}" if frames > 1 else None)
    if done < frames:
        facts["words read"] = f"of {done:,} of {frames:,} pages"
    if empty:
        raise UnreadError("no words were recognised in it")
