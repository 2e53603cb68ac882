"""Records a second and memory with a slow provider, by concurrent calls; and the cost of a retry.

Run as a program, it is one of the measured processes: ``python -m benchmarks.throughput store BATCH_ID`` stores a batch
and prints its cost as JSON; ``... provide`` is the provider, and answers each line on its standard input with the
requests since the previous line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.chat import conversations
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_batch
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.language_model import OpenAiLanguageModel
from tests.support.model_clients import TALK, make_client, make_model
from tests.support.model_provider import Fault, ModelProvider
from tests.support.process_memory import resident

ANSWER_SECONDS = 0.3
CONCURRENCY = {1: 16, 8: 64, 32: 96}
"""Concurrent calls, and the conversations in one batch for each."""
QUICK_CONCURRENCY = {8: 4}
ROUNDS = 3
RETRIES = 15

_METHOD = """Synthetic conversations of 20 to 30 messages go through `run_batch` with the adapters for the OpenAI
protocol. The provider is a separate process that takes 300 ms for every answer. Each batch has a new user and its own
process. A conversation takes three calls of the chat model; texts are embedded 128 to a call. The baseline alternates
with it: a bare pool of as many threads sends the batch's requests again and ignores the answers. Memory is resident
memory of the storing process, before the batch and at its peak."""

_RETRY_METHOD = """Cost of one retry in addition to the wait: a call that succeeds the second time, minus one that
succeeds at once, with a provider that answers without delay."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one batch; memory in MB, before the work and at its peak."""

    records: int
    seconds: float
    before: float
    peak: float


class Provider:
    """The provider in its own process; a context manager that ends it."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "benchmarks.throughput", "provide"]
        self._process = subprocess.Popen(
            command, cwd=PROJECT_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.base_url: str = self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def requests(self) -> list[tuple[str, Any]]:
        """Return path and body of each request since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("requests\n")
        self._process.stdin.flush()
        return [(path, body) for path, body in self._read()]

    def _read(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def run(bench: Bench) -> Section:
    """Measure each number of concurrent calls, then retries."""
    rows = []
    with bench.installation() as installation, Provider() as provider:
        environment = {
            **bench.environment(installation),
            "NEURIGRAPH_LANGUAGE_MODEL": "openai",
            "NEURIGRAPH_EMBEDDER": "openai",
            "OPENAI_API_KEY": "benchmark",
            "OPENAI_BASE_URL": provider.base_url,
        }
        for at_once, size in (QUICK_CONCURRENCY if bench.quick else CONCURRENCY).items():
            costs, bare, calls = [], [], 0
            for turn in range(1 if bench.quick else ROUNDS):
                bench.say(f"{size} conversations, {at_once} calls at once, round {turn + 1}")
                batch_id = take_in(installation, f"at-once-{at_once}-{turn}", size)
                costs.append(store(batch_id, {**environment, "NEURIGRAPH_MODEL_CONCURRENCY": str(at_once)}))
                requests = provider.requests()
                calls = len(requests)
                bare.append(send_bare(provider.base_url, requests, at_once))
                provider.requests()
            rows.append(
                [
                    str(at_once),
                    str(size),
                    str(calls),
                    spread([cost.records / cost.seconds for cost in costs]),
                    spread([cost.records / seconds for cost, seconds in zip(costs, bare, strict=True)]),
                    spread([cost.seconds / seconds for cost, seconds in zip(costs, bare, strict=True)]),
                    number(max(cost.before for cost in costs)),
                    number(max(cost.peak for cost in costs)),
                ]
            )
    bench.say("retries")
    header = (
        *("concurrent calls", "conversations", "calls", "records/s", "bare pool, records/s", "batch ÷ bare pool"),
        *("memory before, MB", "peak memory, MB"),
    )
    retries = retry_costs(2 if bench.quick else RETRIES)
    return Section("Concurrent provider calls", _METHOD, f"{table(header, rows)}\n\n{_RETRY_METHOD}\n\n{retries}")


def take_in(installation: Installation, slug: str, size: int) -> UUID:
    """Put conversations into the inbox of a new user, and claim them as one batch."""
    database, settings = installation.database, installation.settings.changed(batch_max_segments=size)
    user, _ = create_user(database, slug)
    context = installation.context.using(settings=settings)
    inbox = Inbox(context)
    for chat in conversations(0, size):
        with database.agent(Claims.of_user(user.user_id)) as tx:
            inbox.add_conversations(tx, user.user_id, [chat])
    detect_conversation_ends(context)
    batch = triggers.lease_due(context, "benchmark", user.user_id)
    assert batch is not None
    assert batch.segments == size
    return batch.batch_id


def store(batch_id: UUID, environment: Mapping[str, str]) -> Cost:
    """Store a batch in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.throughput", "store", str(batch_id)]
    done = subprocess.run(command, env=environment, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(done.stdout))


def send_bare(base_url: str, requests: Sequence[tuple[str, Any]], at_once: int) -> float:
    """Return the seconds that the same requests take without Neurigraph."""
    address = base_url.removesuffix("/v1")
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(at_once) as pool:
        started = time.perf_counter()
        for answer in pool.map(lambda request: client.post(address + request[0], json=request[1]), requests):
            answer.raise_for_status()
        return time.perf_counter() - started


def retry_costs(repeats: int) -> str:
    """Return a table of the cost of one retry."""
    faults = {
        "500, and no backoff": (Fault("status", status=500), 0.0),
        "429 with `Retry-After: 1`, and no backoff": (Fault("status", status=429, retry_after="1"), 1.0),
    }
    rows = []
    with ModelProvider() as provider:
        client = make_client(provider, first_wait=0.0)
        model = make_model(client)
        model.summarize(TALK, 200)
        for name, (fault, wait) in faults.items():
            extra = []
            for _ in range(repeats):
                well = _seconds_of_a_call(model)
                provider.fail_next(fault)
                extra.append(1_000 * (_seconds_of_a_call(model) - well - wait))
            rows.append([name, number(wait), spread(extra)])
        client.close()
    return table(("first answer", "requested wait, s", "in addition, ms"), rows)


def _seconds_of_a_call(model: OpenAiLanguageModel) -> float:
    started = time.perf_counter()
    model.summarize(TALK, 200)
    return time.perf_counter() - started


def _store(batch_id: UUID) -> None:
    with Installation() as installation:
        context = installation.context
        before, started = resident("now"), time.perf_counter()
        result = run_batch(context, batch_id)
        taken = time.perf_counter() - started
        assert not result.returned, result.returned
        print(json.dumps(asdict(Cost(len(result.stored), taken, before, resident("peak")))))


def _provide() -> None:
    with ModelProvider() as provider:
        provider.slow_down(ANSWER_SECONDS)
        print(json.dumps(provider.base_url), flush=True)
        for _ in sys.stdin:
            print(json.dumps([(request.path, request.body) for request in provider.requests]), flush=True)
            provider.reset()
            provider.slow_down(ANSWER_SECONDS)


if __name__ == "__main__":
    if sys.argv[1] == "store":
        _store(UUID(sys.argv[2]))
    else:
        _provide()
