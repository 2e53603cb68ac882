"""Speed and memory of importing another program's export.

Run as a program (``python -m benchmarks.importing WHAT FILE``), it does one thing with one file and prints seconds and
memory as JSON, because memory is measured in a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import count, cycle
from pathlib import Path
from typing import Any

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.chat import conversations
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.graph.provisioning import ensure_user
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.model import Claims, ImportedConversation
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exports import chatgpt, chatgpt_node
from tests.support.process_memory import resident

MEGABYTES = {10: 3, 100: 1}
"""Sizes of the generated exports, and how often each is imported, each time for a new user."""
QUICK_MEGABYTES = {1: 1}
BASELINES = 3
DIFFERENT_CONVERSATIONS = 200

_METHOD = """Generated exports in ChatGPT's format (`conversations.json`, 20 to 30 messages a conversation) are
imported for a new user, each time in a new process: streamed, cleaned, counted, hashed and inserted, up to 128
conversations in a transaction and two transactions at once. Baselines of the same run, on the same file: `json.load`,
which only parses, and reading the bytes. Memory is the peak of the process."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one process; memory in MB, before the work and at its peak."""

    seconds: float
    before: float
    peak: float


def run(bench: Bench) -> Section:
    """Import each size, beside parsing and reading the same file."""
    rows = []
    sizes = QUICK_MEGABYTES if bench.quick else MEGABYTES
    baselines = 1 if bench.quick else BASELINES
    with bench.installation() as installation:
        environment = bench.environment(installation)
        for megabytes, repeats in sizes.items():
            path = bench.folder / f"chatgpt-{megabytes}.json"
            bench.say(f"writing an export of {megabytes} MB")
            size = write_export(path, megabytes * 1_000_000) / 1e6
            bench.say(f"importing {megabytes} MB, {repeats} times")
            imports = [
                _in_own_process("import", path, {**environment, "NEURIGRAPH_BENCHMARK_USER": f"u{megabytes}-{turn}"})
                for turn in range(repeats)
            ]
            for what, costs in {
                "import": imports,
                "`json.load`": [_in_own_process("parse", path, environment) for _ in range(baselines)],
                "read": [_in_own_process("read", path, environment) for _ in range(baselines)],
            }.items():
                ratio = [ours.seconds / cost.seconds for ours, cost in zip(imports, costs, strict=False)]
                rows.append(
                    [
                        f"{what}, {megabytes} MB",
                        spread([size / cost.seconds for cost in costs]),
                        number(max(cost.before for cost in costs)),
                        number(max(cost.peak for cost in costs)),
                        spread(ratio) if what != "import" else "",
                    ]
                )
            path.unlink()
    header = ("what", "MB/s", "memory before, MB", "peak memory, MB", "import ÷ this")
    return Section("Importing an export", _METHOD, table(header, rows))


def write_export(path: Path, wanted_bytes: int) -> int:
    """Write an export of at least so many bytes; conversations repeat their words, never their ids.

    Returns:
        Bytes written.
    """
    written = 0
    with path.open("w", encoding="ascii") as file:
        file.write("[")
        for number_, chat in zip(count(), cycle(list(conversations(0, DIFFERENT_CONVERSATIONS)))):
            written += file.write((", " if number_ else "") + json.dumps(_exported(chat, number_)))
            if written >= wanted_bytes:
                break
        file.write("]")
    return written + 2


def _exported(chat: ImportedConversation, number_: int) -> dict[str, Any]:
    nodes = [chatgpt_node("root", None, None)]
    for message in chat.messages:
        assert message.occurred_at is not None
        assert message.external_id is not None
        nodes.append(
            chatgpt_node(
                message.external_id,
                nodes[-1]["id"],
                message.role.value,
                message.content,
                time=message.occurred_at.timestamp(),
            )
        )
    return chatgpt(nodes, nodes[-1]["id"], conversation_id=f"{chat.external_id}-{number_}", title=chat.title)


def _in_own_process(what: str, path: Path, environment: Mapping[str, str]) -> Cost:
    command = [sys.executable, "-m", "benchmarks.importing", what, str(path)]
    done = subprocess.run(command, env=environment, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(done.stdout))


def _import(path: Path) -> Cost:
    with Installation() as installation:
        user, _ = ensure_user(installation.database, os.environ["NEURIGRAPH_BENCHMARK_USER"])
        counter, settings, claims = installation.tokens, installation.settings, Claims.of_user(user.user_id)
        before, started = resident("now"), time.perf_counter()
        report = import_file(installation.acting_for(claims).using(tokens=counter, settings=settings), path, "chatgpt")
        taken = time.perf_counter() - started
        assert not report.rejected
        assert report.conversations_added
        return Cost(taken, before, resident("peak"))


def _parse(path: Path) -> Cost:
    before, started = resident("now"), time.perf_counter()
    with path.open("rb") as file:
        loaded = json.load(file)
    taken = time.perf_counter() - started
    assert loaded
    return Cost(taken, before, resident("peak"))


def _read(path: Path) -> Cost:
    before, started = resident("now"), time.perf_counter()
    with path.open("rb") as file:
        while file.read(1_000_000):
            pass
    return Cost(time.perf_counter() - started, before, resident("peak"))


if __name__ == "__main__":
    work = {"import": _import, "parse": _parse, "read": _read}[sys.argv[1]]
    print(json.dumps(asdict(work(Path(sys.argv[2])))))
