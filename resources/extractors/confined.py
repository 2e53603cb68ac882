"""A separate process for a reader, with limits on time, memory and output; a hostile file fails alone.

The process gets the bytes on its standard input, or the path of a copy, and nothing else: no environment, no secrets,
no writable folder.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from neurigraph_pipelines.model.errors import UnreadableFileError

_WORKER = f"{__name__.rpartition('.')[0]}.worker"
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_READ_BYTES = 1 << 16
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}


class Limits(NamedTuple):
    """Limits of a process.

    Attributes:
        seconds: Of both processor time and elapsed time. The time that the caller takes between lines does not count.
        memory_bytes: Of the address space.
        names: Of the settings that raise them.
    """

    seconds: float
    memory_bytes: int
    names: str = "NEURIGRAPH_EXTRACTION_SECONDS"


def lines_of(
    reader: str, limits: Limits, longest: int, *arguments: str, file: IO[bytes] | None = None
) -> Generator[bytes]:
    """Yield the lines that the process of a reader writes; closing the generator kills the process.

    Args:
        longest: Most bytes of a line.
        arguments: For the reader.
        file: Its standard input.

    Raises:
        UnreadableFileError: The process ended, or reached a limit, before the caller had what it wanted.
    """
    limited = (str(math.ceil(limits.seconds)), str(limits.memory_bytes))
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
        [sys.executable, "-E", "-m", _WORKER, reader, *limited, *arguments],
        stdin=subprocess.DEVNULL if file is None else file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,  # the worker is importable from here in any installation
        env=_ENVIRONMENT,
        start_new_session=True,
    )
    assert process.stdout is not None
    begun = bytearray()
    try:
        for chunk in _chunks(process.stdout.fileno(), limits):
            first, *others = chunk.split(b"\n")
            begun += first
            for other in others:
                yield bytes(begun)
                begun = bytearray(other)
            if len(begun) > longest:
                raise UnreadableFileError("the file cannot be read: its reader wrote a line that is too long")
        raise _died(process.wait(), limits)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _chunks(pipe: int, limits: Limits) -> Iterator[bytes]:
    left = limits.seconds
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while True:
            since = time.monotonic()
            if not ready.select(max(left, 0)):
                raise _too_slow(limits)
            left -= time.monotonic() - since
            if not (chunk := os.read(pipe, _READ_BYTES)):
                return
            yield chunk


def _too_slow(limits: Limits) -> UnreadableFileError:
    return UnreadableFileError(
        f"the file cannot be read in {limits.seconds:g} seconds: raise {limits.names} if it is intact"
    )


def _died(code: int, limits: Limits) -> UnreadableFileError:
    if -code == signal.SIGXCPU:
        return _too_slow(limits)
    how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return UnreadableFileError(f"the file cannot be read: its reader was {how}")
