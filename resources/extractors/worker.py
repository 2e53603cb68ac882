"""The process that reads one file: limits first, then the file on stdin, then lines of JSON on stdout.

Started by ``text_extractor`` as ``python -E -m resources.extractors.worker READER SECONDS BYTES`` with an empty
environment. A line is ``{"place", "text"}``, and the last one ``{"facts", "unread"}`` or ``{"error"}``.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
from typing import BinaryIO

from resources.extractors.unread import UnreadError

_READERS = {"pdf", "docx", "html", "csv", "text", "media"}
_LONGEST_ERROR = 300


def main(reader: str, seconds: int, memory_bytes: int) -> None:
    """Read stdin with a reader, and say what was found."""
    _limit(seconds, memory_bytes)
    facts: dict[str, str] = {}
    try:
        if reader not in _READERS:
            raise ValueError(f"there is no reader {reader!r}")
        read = importlib.import_module(f"resources.extractors.{reader}_reader").read
        for place, text in read(sys.stdin.buffer, facts):
            if text.strip():
                _say(sys.stdout.buffer, {"place": place, "text": text})
        _say(sys.stdout.buffer, {"facts": facts, "unread": None})
    except UnreadError as reason:
        _say(sys.stdout.buffer, {"facts": facts, "unread": str(reason)})
    except MemoryError:
        _say(sys.stdout.buffer, {"error": f"reading it takes more than {memory_bytes:,} bytes of memory"})
    except RecursionError:
        _say(sys.stdout.buffer, {"error": "it is nested too deeply"})
    except Exception as error:  # whatever a parser makes of a hostile file
        said = " ".join(f"{type(error).__name__}: {error}".split())
        _say(sys.stdout.buffer, {"error": f"it is damaged or not what it seems ({said[:_LONGEST_ERROR]})"})


def _limit(seconds: int, memory_bytes: int) -> None:
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),  # SIGXCPU first, which tells why
        (resource.RLIMIT_AS, memory_bytes, memory_bytes),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 64, 64),
    ):
        _, allowed = resource.getrlimit(what)
        unlimited = allowed == resource.RLIM_INFINITY
        resource.setrlimit(what, (soft, hard) if unlimited else (min(soft, allowed), min(hard, allowed)))


def _say(out: BinaryIO, value: dict[str, object]) -> None:
    # ASCII alone: a parser may give lone surrogates, which no encoding takes.
    out.write(json.dumps(value).encode("ascii") + b"\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
