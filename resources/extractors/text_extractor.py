"""Extract text in a separate process, with limits on time, memory and output; a hostile file fails alone.

The readers are the other modules of this package, and ``confined`` starts the process.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from typing import IO, Any

from neurigraph_pipelines.errors import UnreadableFileError
from neurigraph_pipelines.model import ExtractedPart, Extraction
from resources.extractors.confined import Limits, lines_of

_LONGEST_LINE = 1_000_000
"""Far more than a part with its escapes needs; a longer line means that the reader is out of control."""


def can_recognize() -> bool:
    """Return whether what recognises words in images is installed: the extra ``ocr``."""
    return all(find_spec(name) for name in ("rapidocr", "pypdfium2", "PIL"))


class SubprocessExtractor:
    """A ``TextExtractor`` that starts a short-lived process for each file, and another one to read images in it.

    Args:
        seconds: Limit of both processor time and elapsed time.
        memory_bytes: Limit of the address space of the process.
        text_bytes: Limit of the text of one file, in bytes of UTF-8.
        ocr: Limits of the process that reads images; None reads none.
    """

    def __init__(self, seconds: float, memory_bytes: int, text_bytes: int, ocr: Limits | None = None) -> None:
        self._limits = Limits(seconds, memory_bytes)
        self._text_bytes = text_bytes
        self._ocr = ocr

    def extract(self, content: Iterable[bytes], reader: str) -> Extraction:
        """Read a file.

        Raises:
            UnreadableFileError: The file is damaged, or exceeds the limits of time, memory or text.
        """
        with tempfile.TemporaryFile() as file:
            for chunk in content:
                file.write(chunk)
            file.flush()
            if reader == "image":
                return self._with_words(file, self._read(file, "media", self._limits), "image")
            found = self._read(file, reader, self._limits)
            pages = {part.place.partition(".")[0] for part in found.parts}
            if reader == "pdf" and len(pages) < int(found.facts.get("pages", 0)):
                return self._with_words(file, found, "scan")
            return found

    def _with_words(self, file: IO[bytes], found: Extraction, reader: str) -> Extraction:
        """Add the words of images; if that fails, say why, because the file was readable without them."""
        if self._ocr is None:
            return found
        read: list[ExtractedPart] = []
        try:
            seen = self._read(file, reader, self._ocr, read)
        except UnreadableFileError as error:
            facts = {"words in images": f"{'in part ' if read else ''}not read, because {error}"}
            seen = Extraction(tuple(read), facts, found.unread)
        known = {part.place.partition(".")[0] for part in found.parts}
        parts = [*found.parts, *(part for part in seen.parts if part.place.partition(".")[0] not in known)]
        unread = None if parts else seen.unread or found.unread
        return Extraction(tuple(sorted(parts, key=_page)), {**found.facts, **seen.facts}, unread)

    def _read(
        self, file: IO[bytes], reader: str, limits: Limits, parts: list[ExtractedPart] | None = None
    ) -> Extraction:
        file.seek(0)
        return self._parsed(lines_of(reader, limits, _LONGEST_LINE, file=file), [] if parts is None else parts)

    def _parsed(self, lines: Iterable[bytes], parts: list[ExtractedPart]) -> Extraction:
        """Add what the process writes to ``parts``, which keep it if the process fails."""
        size = 0
        for line in lines:
            found: dict[str, Any] = json.loads(line)
            if "error" in found:
                raise UnreadableFileError(f"the file cannot be read: {found['error']}")
            if "facts" in found:
                return Extraction(tuple(parts), found["facts"], found["unread"])
            part = ExtractedPart(found["place"], found["text"], found["section"])
            size += len(part.place) + len(part.text.encode("utf-8", "surrogatepass"))
            if size > self._text_bytes:
                break
            parts.append(part)
        raise UnreadableFileError(
            f"the file contains more than {self._text_bytes:,} bytes of text: split it, "
            "or raise NEURIGRAPH_EXTRACTION_TEXT_BYTES"
        )


def _page(part: ExtractedPart) -> int:
    number = part.place.partition(".")[0].removeprefix("page-")
    return int(number) if number.isdigit() else 0
