"""A mailbox whose threads stand mixed in the file, and a process that reads one as an import reads it.

Run as ``python -m tests.support.large_mailbox FILE``; it prints counts and memory in MB as JSON.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path

from neurigraph_pipelines.inbox.imports.reader import read_conversations
from neurigraph_pipelines.model import ImportedConversation
from tests.support.process_memory import resident

THREADS = 200
"""Threads that are open at a time: a message answers one that stands so many before it."""
ANSWERS = 5


def write_mailbox(path: Path, wanted_bytes: int) -> tuple[int, int]:
    """Write a mailbox of at least so many bytes; return the number of its e-mails, and its bytes."""
    body = "We meet on Friday at the lake, and I bring the boat.\n\n" * 220
    size = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for place in count():
            if size >= wanted_bytes:
                return place, size
            size += file.write(_mail(place, body))
    raise AssertionError


def _mail(place: int, body: str) -> str:
    turn, thread = place // THREADS % (ANSWERS + 1), place % THREADS + THREADS * (place // THREADS // (ANSWERS + 1))
    references = f"References: <t{thread}.0@example.org>\n" if turn else ""
    return (
        f"From ann@example.org Wed May  1 10:00:00 2024\nFrom: Ann <ann@example.org>\nSubject: Plan {thread}\n"
        f"Date: Wed, 1 May 2024 1{turn}:00:00 +0200\nMessage-ID: <t{thread}.{turn}@example.org>\n{references}\n"
        f"E-mail {place}.\n{body}\n\n"
    )


def main() -> None:
    before, messages = resident("now"), 0
    for found in read_conversations(Path(sys.argv[1]), "mail"):
        assert isinstance(found, ImportedConversation), found
        messages += len(found.messages)
    print(json.dumps({"messages": messages, "before": before, "peak": resident("peak")}))


if __name__ == "__main__":
    main()
