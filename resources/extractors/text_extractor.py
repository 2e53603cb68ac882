"""Extract text in a separate process, with limits on time, memory and output; a hostile file fails alone.

The readers are the other modules of this package, and ``confined`` starts the process.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import IO

from neurigraph_pipelines.model import ExtractedPart, Extraction, RepositoryFile
from neurigraph_pipelines.model.errors import UnreadableFileError
from resources.extractors.confined import Limits, lines_of

_LONGEST_LINE = 1_000_000
"""Far more than a part with its escapes needs; a longer line means that the reader is out of control."""


_LAST = (b'{"facts"', b'{"error"')
"""How the last line of a process begins."""

_WRITTEN_FOR_ONE = 8
"""Bytes written for a byte of a repository's files: itself in Base64, and its character with escapes."""


def can_recognize() -> bool:
    """Return whether the extra ``ocr``, which recognises words in images, is installed."""
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

    def unpack(self, content: Iterable[bytes], most_files: int, take: Callable[[RepositoryFile], None]) -> Extraction:
        """Read a repository: each file with its parts, of all files together the bytes that one file may have.

        Raises:
            UnreadableFileError: The pack is damaged, or exceeds the limits of time or memory.
        """
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as written:
            for chunk in content:
                file.write(chunk)
            file.seek(0)
            bounds = (str(most_files), str(self._text_bytes))
            for line in lines_of("repository", self._limits, _LONGEST_LINE, *bounds, file=file):
                written.write(line + b"\n")  # the caller may be slower than the process is allowed to be
                if line.startswith(_LAST):
                    break
                if written.tell() > _LONGEST_LINE + _WRITTEN_FOR_ONE * self._text_bytes:
                    raise UnreadableFileError("the repository cannot be read: its reader wrote too much")
            written.seek(0)
            return self._parsed(_apart(written, take), [])

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
        """Add the output of the process to ``parts``, which keep it if the process fails."""
        size = 0
        for line in lines:
            found = json.loads(line)
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


def _apart(lines: Iterable[bytes], take: Callable[[RepositoryFile], None]) -> Iterator[bytes]:
    """Yield the lines that are of no file, and hand over each file once all of its parts are read."""
    file: RepositoryFile | None = None
    for line in lines:
        found = json.loads(line)
        if file is not None and "place" in found:
            file.parts.append(ExtractedPart(found["place"], found["text"], found["section"]))
            continue
        if file is not None:
            take(file)
        file = RepositoryFile(found["path"], base64.b64decode(found["content"])) if "path" in found else None
        if file is None:
            yield line


def _page(part: ExtractedPart) -> int:
    number = part.place.partition(".")[0].removeprefix("page-")
    return int(number) if number.isdigit() else 0
