"""Speed and memory of reading a mailbox, whose threads stand mixed in the file.

Run as a program (``python -m benchmarks.mailbox FILE``), it reads one file and prints counts, seconds and memory as
JSON, because memory is measured in a separate process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.chat import conversation
from benchmarks.report import Section, number, table
from neurigraph_pipelines.inbox.imports.reader import read_conversations
from neurigraph_pipelines.model import NewConversation
from tests.support.process_memory import resident

MEGABYTES = (20, 200)
LARGE_MEGABYTES = (*MEGABYTES, 2_100)
QUICK_MEGABYTES = (1,)
THREADS = 200
"""Threads that are open at a time: a message answers one that stands so many before it."""
ANSWERS = 5

_METHOD = """Mailboxes (`.mbox`) of made e-mails of about 12 kB, in threads of six messages between which those of 199
other threads stand. Each is read by a new process as `import --dry-run` reads it: once for the threads, and then thread
by thread; nothing is stored. Seconds are processor time. Memory is that of the process, before and at its peak."""


def run(bench: Bench) -> Section:
    """Read a mailbox of each size."""
    rows = []
    for megabytes in QUICK_MEGABYTES if bench.quick else LARGE_MEGABYTES if bench.large else MEGABYTES:
        path = bench.folder / f"{megabytes}.mbox"
        bench.say(f"writing and reading a mailbox of {megabytes} MB")
        mails, size = write_mailbox(path, megabytes * 1_000_000)
        command = [sys.executable, "-m", "benchmarks.mailbox", str(path)]
        done = subprocess.run(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True, check=True)
        cost = json.loads(done.stdout)
        path.unlink()
        assert cost["messages"] == mails, "a message is missing"
        speeds = (size / 1e6 / cost["seconds"], mails / cost["seconds"])
        figures = (cost["threads"], *speeds, cost["before"], cost["peak"])
        rows.append([f"{megabytes:,} MB, {mails:,} e-mails", *map(number, figures)])
    header = ("mailbox", "threads", "MB a second", "e-mails a second", "memory before, MB", "peak memory, MB")
    return Section("Reading a mailbox", _METHOD, table(header, rows))


def write_mailbox(path: Path, wanted_bytes: int) -> tuple[int, int]:
    """Write a mailbox of at least so many bytes; return the number of its e-mails, and its bytes."""
    said = "\n\n".join(message.content for message in conversation(0).messages)
    body = "\n\n".join([said] * max(1, 12_000 // len(said)))
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


def _read(path: Path) -> dict[str, Any]:
    before, started, threads, messages = resident("now"), time.process_time(), 0, 0
    for found in read_conversations(path, "mail"):
        assert isinstance(found, NewConversation), found
        threads, messages = threads + 1, messages + len(found.messages)
    taken = time.process_time() - started
    return {"threads": threads, "messages": messages, "seconds": taken, "before": before, "peak": resident("peak")}


if __name__ == "__main__":
    print(json.dumps(_read(Path(sys.argv[1]))))
