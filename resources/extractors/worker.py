"""The process that reads one file: sets its limits, reads stdin, writes lines of JSON to stdout.

Started by ``confined`` as ``python -E -m resources.extractors.worker READER SECONDS BYTES`` without an environment;
limits of the reader's own may follow. A line is ``{"place", "text", "section"}``, of a repository also
``{"path", "content"}``, whose parts follow; the last line is ``{"facts", "unread"}`` or ``{"error"}``. The reader
``conversations`` reads the file of a path instead, and its lines are those of ``export_lines``.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
from typing import BinaryIO

from neurigraph_pipelines.model.errors import UnreadableFileError
from resources.extractors.unread import UnreadError

_LONGEST_ERROR = 300
_CONVERSATIONS = "neurigraph_pipelines.inbox.export_lines"


def main(reader: str, seconds: int, memory_bytes: int, *arguments: str) -> None:
    """Read stdin, or the file that the arguments name, with a reader and write the result."""
    _limit(seconds, memory_bytes)
    facts: dict[str, str] = {}
    try:
        if reader == "conversations":
            for line in importlib.import_module(_CONVERSATIONS).lines(*arguments):
                _write(sys.stdout.buffer, line)
            return
        read = importlib.import_module(f".{reader}_reader", __package__).read
        for found in read(sys.stdin.buffer, facts, *map(int, arguments)):
            if isinstance(found, dict):
                _write(sys.stdout.buffer, found)
            elif found[1].strip():
                _write(sys.stdout.buffer, dict(zip(("place", "text", "section"), found, strict=True)))
        _write(sys.stdout.buffer, {"facts": facts, "unread": None})
    except UnreadError as reason:
        _write(sys.stdout.buffer, {"facts": facts, "unread": str(reason)})
    except UnreadableFileError as reason:
        _write(sys.stdout.buffer, {"error": str(reason)})
    except MemoryError:
        _write(sys.stdout.buffer, {"error": f"reading it takes more than {memory_bytes:,} bytes of memory"})
    except RecursionError:
        _write(sys.stdout.buffer, {"error": "it is nested too deeply"})
    except Exception as error:  # parsers raise any error for a hostile file
        message = " ".join(f"{type(error).__name__}: {error}".split())
        _write(sys.stdout.buffer, {"error": f"it is damaged or of another type ({message[:_LONGEST_ERROR]})"})


def _limit(seconds: int, memory_bytes: int) -> None:
    for what, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),  # SIGXCPU comes first and shows the reason
        (resource.RLIMIT_AS, memory_bytes, memory_bytes),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, 64, 64),
    ):
        _, allowed = resource.getrlimit(what)
        unlimited = allowed == resource.RLIM_INFINITY
        resource.setrlimit(what, (soft, hard) if unlimited else (min(soft, allowed), min(hard, allowed)))


def _write(out: BinaryIO, value: dict[str, object]) -> None:
    # ASCII only: a parser may return lone surrogates, which cannot be encoded.
    out.write(json.dumps(value).encode("ascii") + b"\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
