"""Searches over HTTP by 1, 8 and 32 clients at once, and blocks for prompts, beside writes: latency, losses, memory.

Run as a program, ``python -m benchmarks.load store`` stores what is due until its standard input is closed.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.chat import conversation, conversations, reference
from benchmarks.report import Section, number, percentile, table
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.wiring.installation import Installation

PATHS = ("/v1/search", "/v1/context")
MANY_CLIENTS = (8, 32)
MINUTES = 10.0
STORED_BEFORE, QUICK_STORED_BEFORE = 200, 8
PHASE_SECONDS = MINUTES * 60 / len((*PATHS, *MANY_CLIENTS))
QUICK_PHASE_SECONDS = 4.0
CONSTANT_CLIENTS, CONSTANT_SECONDS = 8, 120.0
WRITE_EVERY_SECONDS = 3.0
SAMPLE_SECONDS, QUICK_SAMPLE_SECONDS = 5.0, 0.5
FIRST_WRITTEN = 500_000
LAST_SECONDS = 600.0
"""Longest wait for the last written conversation to be stored."""

_MEGABYTE = 1_024

_METHOD = """`neurigraph admin serve` is a process of its own, on a graph of {size} synthetic conversations of 20 to 30
messages. Clients search over HTTP with connections that stay open, one question after the other, each question
different: its embedding by MiniLM, the search and the answer are in the time, which the client measures. *Context* is
`POST /v1/context` with 1,500 tokens, to be compared with the search of one client; *processor* is the time that the
API's process took for each, without Postgres. The same key writes at the same time: every {every:g} s a conversation of
20 to 30 messages is sent over HTTP and ended, and another process stores what is due, reads it for facts and compares
them. All of them share the machine's processors: clients, API, storing and Postgres.
{minutes:.1f} minutes in all. Lost is a conversation that was accepted and is not stored at the end, or whose own
word a search does not find; an error is any answer to a search but 200. Memory is the resident memory of the API's
process. Before the writes, {constant} clients search the constant graph for {constant_seconds:g} s: what memory grows
by there is not the graph's."""

_QUESTIONS = (
    "What did {person} say about the {thing} in week {number}?",
    "How much does the {thing} cost, and who decides about number {number}?",
    "Which problems with the {thing} did {person} mention {number} days ago?",
    "When does {person} want to talk about the {thing}, item {number}?",
)
_PEOPLE = ("Marta", "Joana", "Priya", "Ingrid", "Coach Hana", "Dave", "Uncle Karl", "Aunt Rosa", "Astrid", "Nora")
_THINGS = ("oak worktop", "night train", "release plan", "compost bins", "cello part", "mast", "cake", "route planner")


class Caller:
    """One client with a connection that stays open.

    Args:
        url: Address of the server.
        key: An API key.
    """

    def __init__(self, url: str, key: str) -> None:
        at = urlsplit(url)
        assert at.hostname is not None
        self._connection = http.client.HTTPConnection(at.hostname, at.port, timeout=120)
        self.headers = http.client.HTTPMessage()
        """Of the last answer."""
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return the status and the answer."""
        self._connection.request("POST", path, json.dumps(body) if body is not None else None, self._headers)
        response = self._connection.getresponse()
        self.headers = response.headers
        content = response.read()
        return response.status, json.loads(content) if content else None


@dataclass
class Phase:
    """The searches of so many clients at once."""

    name: str
    clients: int
    seconds: float
    path: str = "/v1/search"
    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    processor: float = 0.0


def run(bench: Bench) -> Section:
    """Run the three phases beside writes, and look for what was written."""
    with bench.installation() as installation:
        user, _ = create_user(installation.database, "load")
        key = issue_api_key(installation.database, user.user_id)
        size = QUICK_STORED_BEFORE if bench.quick else STORED_BEFORE
        bench.say(f"storing {size} conversations")
        _store_before(installation, user.user_id, size)
        environment = {**bench.environment(installation), "NEURIGRAPH_API_REQUESTS_PER_MINUTE": "1e9"}
        with _serving(environment) as (url, pid):
            ask = partial(_phase, bench, url, key, pid)
            ask("warm up", CONSTANT_CLIENTS, QUICK_PHASE_SECONDS)
            seconds = QUICK_PHASE_SECONDS if bench.quick else CONSTANT_SECONDS
            before = _passages(installation)
            alone = [ask("constant", 1, seconds / 4, path) for path in PATHS]
            with _Memory(pid, bench.quick) as constant:
                still = ask("constant", CONSTANT_CLIENTS, seconds)
            with _storing(environment) as stored:
                with _Memory(pid, bench.quick) as memory:
                    writer = Writer(url, key)
                    seconds = QUICK_PHASE_SECONDS if bench.quick else PHASE_SECONDS
                    phases = [ask("beside writes", 1, seconds, path) for path in PATHS]
                    phases += [ask("beside writes", clients, seconds) for clients in MANY_CLIENTS]
                    written = writer.stop()
                bench.say(f"waiting for {len(written)} written conversations")
                lost = _lost(installation, url, key, written)
                segments = stored()
        held = _held(constant, still, memory, phases, before, _passages(installation))
        method = _METHOD.format(
            size=size,
            every=WRITE_EVERY_SECONDS,
            minutes=sum(phase.seconds for phase in phases) / 60,
            constant=CONSTANT_CLIENTS,
            constant_seconds=still.seconds,
        )
        named = f": {', '.join(lost[:5])}" if lost else ""
        counts = f"{len(written)} conversations written, {segments} segments stored, {len(lost)} lost{named}."
        body = f"{_searches([*alone, still, *phases])}\n\n{held}\n\n{counts}"
        return Section("Searches by many clients beside writes", method, body)


def _store_before(installation: Installation, user_id: Any, size: int) -> None:
    inbox = Inbox(installation.context)
    with installation.database.owner() as tx:
        for one in conversations(1, size):
            inbox.add_conversations(tx, user_id, [one])
    _store_due(installation)


def _store_due(installation: Installation) -> int:
    """Store what is due and read its facts; return the number of segments."""
    stored = sum(len(result.stored) for result in run_due(installation.context, "load"))
    read_waiting(installation.context)
    reconcile_waiting(installation.context)
    return stored


@contextmanager
def _serving(environment: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Run the API; yields its address and process id."""
    command = [str(Path(sys.executable).parent / "neurigraph"), "admin", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.terminate()


@contextmanager
def _storing(environment: dict[str, str]) -> Iterator[Any]:
    """Run the process that stores; yields a function that ends it and returns the number of segments it stored."""
    command = [sys.executable, "-m", "benchmarks.load", "store"]
    with subprocess.Popen(
        command, cwd=PROJECT_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def end() -> int:
            out, _ = process.communicate(timeout=LAST_SECONDS)
            return int(out)

        try:
            yield end
        finally:
            if process.poll() is None:
                process.terminate()


class _Memory:
    """Samples the resident memory of a process, in MB, with the seconds since the start."""

    def __init__(self, pid: int, quick: bool) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._every = QUICK_SAMPLE_SECONDS if quick else SAMPLE_SECONDS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self.samples: list[tuple[float, float]] = []

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(self._every):
            lines = dict(line.split(":", 1) for line in self._status.read_text(encoding="ascii").splitlines())
            self.samples.append((time.monotonic() - self._started, int(lines["VmRSS"].split()[0]) / _MEGABYTE))

    def around(self, share: float) -> float:
        """Return the median of the tenth of the samples around a share of the time."""
        width = max(len(self.samples) // 20, 1)
        middle = round(share * (len(self.samples) - 1))
        near = sorted(mb for _, mb in self.samples[max(middle - width, 0) : middle + width + 1])
        return near[len(near) // 2]


class Writer:
    """Writes conversations over HTTP until it is stopped."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key
        self._ended = threading.Event()
        self._written: list[int] = []
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def stop(self) -> list[int]:
        """Stop writing; return the numbers of the conversations that the server accepted."""
        self._ended.set()
        self._thread.join()
        return self._written

    def _write(self) -> None:
        number = FIRST_WRITTEN
        with Caller(self._url, self._key) as caller:
            while not self._ended.wait(WRITE_EVERY_SECONDS):
                number += 1
                one = conversation(number)
                status, opened = caller.post("/v1/conversations", {"title": one.title, "external_id": one.external_id})
                assert status == 201, opened
                place = f"/v1/conversations/{opened['conversation_id']}"
                messages = [
                    {"role": message.role.value, "content": message.content, "external_id": message.external_id}
                    for message in one.messages
                ]
                status, added = caller.post(f"{place}/messages", {"messages": messages})
                assert status == 200, added
                status, ended = caller.post(f"{place}/end")
                assert status == 200, ended
                self._written.append(number)


def _phase(
    bench: Bench, url: str, key: str, pid: int, name: str, clients: int, seconds: float, path: str = PATHS[0]
) -> Phase:
    phase = Phase(name, clients, seconds, path)
    bench.say(f"{name}: {clients} clients, {seconds:.0f} s of {path}")
    until, processor = time.monotonic() + seconds, _processor_seconds(pid)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda client: _ask(url, key, f"{clients} {client}", until, phase), range(clients)))
    phase.processor = _processor_seconds(pid) - processor
    return phase


def _processor_seconds(pid: int) -> float:
    """Return the seconds of a processor that a process has taken, in its own code and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _passages(installation: Installation) -> int:
    with installation.database.pipeline() as tx:
        row = tx.execute("SELECT sum(passages)::bigint AS passages FROM neurigraph.node_statistics").fetchone()
    assert row is not None
    return int(row["passages"])


def _ask(url: str, key: str, seed: str, until: float, phase: Phase) -> None:
    """Ask one question after the other until a moment."""
    chance = random.Random(seed)
    with Caller(url, key) as caller:
        while time.monotonic() < until:
            query = chance.choice(_QUESTIONS).format(
                person=chance.choice(_PEOPLE), thing=chance.choice(_THINGS), number=chance.randrange(100_000)
            )
            started = time.perf_counter()
            status, _ = caller.post(phase.path, {"query": query})
            phase.latencies.append(time.perf_counter() - started)
            phase.errors += status != 200


def _lost(installation: Installation, url: str, key: str, written: list[int]) -> list[str]:
    """Return the conversations that are not stored in time, or not found by their own word."""
    query = """SELECT count(*) AS stored FROM neurigraph.sources
    WHERE ended_at IS NOT NULL AND stored_through = last_message AND external_id = ANY(%s)"""
    names = [conversation(number).external_id for number in written]
    until = time.monotonic() + LAST_SECONDS
    while time.monotonic() < until:
        with installation.database.pipeline() as tx:
            row = tx.execute(query, [names]).fetchone()
        assert row is not None
        if row["stored"] == len(names):
            break
        time.sleep(1)
    lost = []
    with Caller(url, key) as caller:
        for number in written:
            _, found = caller.post("/v1/search", {"query": f"What is filed under {reference(number)}?", "limit": 3})
            if f"chat-{number}" not in [hit["source_external_id"] for hit in found["hits"]]:
                lost.append(f"chat-{number}")
    return lost


def _searches(phases: list[Phase]) -> str:
    rows = [
        [
            phase.name,
            phase.path.rpartition("/")[2],
            str(phase.clients),
            f"{len(phase.latencies):,}",
            number(len(phase.latencies) / phase.seconds),
            *(number(1_000 * percentile(phase.latencies, percent)) for percent in (50, 95, 99)),
            number(1_000 * phase.processor / len(phase.latencies)),
            str(phase.errors),
        ]
        for phase in phases
    ]
    times = ("p50 ms", "p95 ms", "p99 ms", "processor ms")
    return table(("graph", "asked", "clients", "answers", "answers/s", *times, "errors"), rows)


def _held(constant: _Memory, still: Phase, memory: _Memory, phases: list[Phase], before: int, after: int) -> str:
    """Return the table of the API's memory while the graph is constant, and while it grows."""
    marks = (0.1, 0.25, 0.5, 0.75, 1.0)
    rows = [
        [
            name,
            passages,
            *(number(samples.around(share)) for share in marks),
            number(max(mb for _, mb in samples.samples)),
            number((samples.around(1.0) - samples.around(0.1)) / (0.9 * searches / 1_000)),
        ]
        for name, passages, samples, searches in (
            ("constant", f"{before:,}", constant, len(still.latencies)),
            ("beside writes", f"{before:,} to {after:,}", memory, sum(len(phase.latencies) for phase in phases)),
        )
    ]
    after_share = (f"after {share:.0%}" for share in marks)
    return table(("memory of the API, MB", "passages", *after_share, "most", "growth by 1,000 searches"), rows)


def store_until_closed() -> None:
    """Store what is due, again and again, until the standard input is closed; print the number of segments."""
    closed = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=wait, daemon=True).start()
    stored = 0
    with Installation() as installation:
        while not closed.wait(0.5):
            stored += _store_due(installation)
    print(stored)


if __name__ == "__main__":
    store_until_closed()
