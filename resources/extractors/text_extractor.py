"""Reads files in a process of their own, with limits on time, memory and output; a hostile file fails alone.

What is read how belongs to ``extractors``. The process gets the bytes on its standard input and nothing else of ours:
no environment, no arguments that tell anything, no folder to write to.
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
from pathlib import Path
from typing import IO, Any

from neurigraph_pipelines.errors import UnreadableFileError
from neurigraph_pipelines.model import ExtractedPart, Extraction

_WORKER = "resources.extractors.worker"
_ROOT = Path(__file__).resolve().parents[2]
_READ_BYTES = 1 << 16
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
_LONGEST_LINE = 1_000_000
"""Far above what a part and its escapes take: more than that is no line of ours."""


class SubprocessExtractor:
    """A ``TextExtractor`` that starts one short-lived process for each file.

    Args:
        seconds: Both of processor time and by the clock; what is longer is ended.
        memory_bytes: Address space of the process.
        text_bytes: Most text of one file, in bytes of UTF-8.
    """

    def __init__(self, seconds: float, memory_bytes: int, text_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._text_bytes = text_bytes

    def extract(self, content: Iterable[bytes], reader: str) -> Extraction:
        """Read a file.

        Raises:
            UnreadableFileError: It is damaged, or takes more time, memory or room than it may.
        """
        with tempfile.TemporaryFile() as file:
            for chunk in content:
                file.write(chunk)
            file.flush()
            file.seek(0)
            return self._parsed(self._lines(file, reader))

    def _parsed(self, lines: Iterable[bytes]) -> Extraction:
        parts: list[ExtractedPart] = []
        size = 0
        for line in lines:
            said: dict[str, Any] = json.loads(line)
            if "error" in said:
                raise UnreadableFileError(f"the file cannot be read: {said['error']}")
            if "facts" in said:
                return Extraction(tuple(parts), said["facts"], said["unread"])
            part = ExtractedPart(said["place"], said["text"])
            size += len(part.place) + len(part.text.encode("utf-8", "surrogatepass"))
            if size > self._text_bytes:
                break
            parts.append(part)
        raise UnreadableFileError(
            f"the file holds more than {self._text_bytes:,} bytes of text: split it, "
            "or raise NEURIGRAPH_EXTRACTION_TEXT_BYTES"
        )

    def _lines(self, file: IO[bytes], reader: str) -> Iterator[bytes]:
        """What the process says, line by line; whoever has heard enough closes this, and the process is ended.

        Raises:
            UnreadableFileError: The process came to its end, or to its limit, before it had said all.
        """
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
            [sys.executable, "-E", "-m", _WORKER, reader, str(math.ceil(self._seconds)), str(self._memory_bytes)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,  # where the worker is found, however we were installed
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        assert process.stdout is not None
        pending = b""
        try:
            for chunk in self._chunks(process.stdout.fileno()):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from lines
                if len(pending) > _LONGEST_LINE:
                    raise UnreadableFileError("the file cannot be read: its reader went astray")
            raise self._died(process.wait())
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def _chunks(self, pipe: int) -> Iterator[bytes]:
        deadline = time.monotonic() + self._seconds
        with selectors.DefaultSelector() as ready:
            ready.register(pipe, selectors.EVENT_READ)
            while ready.select(max(deadline - time.monotonic(), 0)):
                if not (chunk := os.read(pipe, _READ_BYTES)):
                    return
                yield chunk
        raise self._too_slow()

    def _too_slow(self) -> UnreadableFileError:
        return UnreadableFileError(
            f"the file cannot be read in {self._seconds:g} seconds: raise NEURIGRAPH_EXTRACTION_SECONDS if it is sound"
        )

    def _died(self, code: int) -> UnreadableFileError:
        if -code == signal.SIGXCPU:
            return self._too_slow()
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return UnreadableFileError(f"the file cannot be read: its reader was {how}")
