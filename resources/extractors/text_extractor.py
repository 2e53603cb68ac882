"""Run a reader in a separate process, with limits on time, memory and output; a hostile file fails alone.

The readers are the other modules of this package. The process gets the bytes on its standard input and nothing else: no
environment, no arguments with information, no writable folder.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

from neurigraph_pipelines.errors import UnreadableFileError
from neurigraph_pipelines.model import ExtractedPart, Extraction

_WORKER = f"{__name__.rpartition('.')[0]}.worker"
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_READ_BYTES = 1 << 16
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
_LONGEST_LINE = 1_000_000
"""Far more than a part with its escapes needs; a longer line means that the reader is out of control."""


class Limits(NamedTuple):
    """Limits of a process.

    Attributes:
        seconds: Of both processor time and elapsed time.
        memory_bytes: Of the address space.
        names: Of the settings that raise them.
    """

    seconds: float
    memory_bytes: int
    names: str = "NEURIGRAPH_EXTRACTION_SECONDS"


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
        return self._parsed(self._lines(file, reader, limits), [] if parts is None else parts)

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

    def _lines(self, file: IO[bytes], reader: str, limits: Limits) -> Iterator[bytes]:
        """Yield the lines that the process writes; closing the generator kills the process.

        Raises:
            UnreadableFileError: The process ended, or reached a limit, before its last line.
        """
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-E", "-m", _WORKER, reader, str(math.ceil(limits.seconds)), str(limits.memory_bytes)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,  # the worker is importable from here in any installation
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        assert process.stdout is not None
        pending = b""
        try:
            for chunk in _chunks(process.stdout.fileno(), limits):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from lines
                if len(pending) > _LONGEST_LINE:
                    raise UnreadableFileError("the file cannot be read: its reader wrote a line that is too long")
            raise _died(process.wait(), limits)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _page(part: ExtractedPart) -> int:
    number = part.place.partition(".")[0].removeprefix("page-")
    return int(number) if number.isdigit() else 0


def _chunks(pipe: int, limits: Limits) -> Iterator[bytes]:
    deadline = time.monotonic() + limits.seconds
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while ready.select(max(deadline - time.monotonic(), 0)):
            if not (chunk := os.read(pipe, _READ_BYTES)):
                return
            yield chunk
    raise _too_slow(limits)


def _too_slow(limits: Limits) -> UnreadableFileError:
    return UnreadableFileError(
        f"the file cannot be read in {limits.seconds:g} seconds: raise {limits.names} if it is intact"
    )


def _died(code: int, limits: Limits) -> UnreadableFileError:
    if -code == signal.SIGXCPU:
        return _too_slow(limits)
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return UnreadableFileError(f"the file cannot be read: its reader was {how}")
