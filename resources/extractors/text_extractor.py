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
from pathlib import Path
from typing import IO, Any

from neurigraph_pipelines.errors import UnreadableFileError
from neurigraph_pipelines.model import ExtractedPart, Extraction

_WORKER = f"{__name__.rpartition('.')[0]}.worker"
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_READ_BYTES = 1 << 16
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
_LONGEST_LINE = 1_000_000
"""Far more than a part with its escapes needs; a longer line means that the reader is out of control."""


class SubprocessExtractor:
    """A ``TextExtractor`` that starts one short-lived process for each file.

    Args:
        seconds: Limit of both processor time and elapsed time.
        memory_bytes: Limit of the address space of the process.
        text_bytes: Limit of the text of one file, in bytes of UTF-8.
    """

    def __init__(self, seconds: float, memory_bytes: int, text_bytes: int) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._text_bytes = text_bytes

    def extract(self, content: Iterable[bytes], reader: str) -> Extraction:
        """Read a file.

        Raises:
            UnreadableFileError: The file is damaged, or exceeds the limits of time, memory or text.
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

    def _lines(self, file: IO[bytes], reader: str) -> Iterator[bytes]:
        """Yield the lines that the process writes; closing the generator kills the process.

        Raises:
            UnreadableFileError: The process ended, or reached a limit, before its last line.
        """
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-E", "-m", _WORKER, reader, str(math.ceil(self._seconds)), str(self._memory_bytes)],
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
            for chunk in self._chunks(process.stdout.fileno()):
                *lines, pending = (pending + chunk).split(b"\n")
                yield from lines
                if len(pending) > _LONGEST_LINE:
                    raise UnreadableFileError("the file cannot be read: its reader wrote a line that is too long")
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
            f"the file cannot be read in {self._seconds:g} seconds: raise NEURIGRAPH_EXTRACTION_SECONDS if it is intact"
        )

    def _died(self, code: int) -> UnreadableFileError:
        if -code == signal.SIGXCPU:
            return self._too_slow()
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return UnreadableFileError(f"the file cannot be read: its reader was {how}")
