"""A flood: many clients hand in conversations and search at once, until storing is far behind; then what is left."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from benchmarks.bench import Bench, exported
from benchmarks.chat import conversation, reference
from benchmarks.load import Caller
from benchmarks.report import Section, number, table
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion import readiness
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dagster_stack import graphql

CLIENTS, QUICK_CLIENTS = 32, 4
USERS = 4
FLOOD_SECONDS, QUICK_FLOOD_SECONDS = 120.0, 4.0
SEARCHES = 3
"""Searches of a client after each of its conversations."""
NUMBERS = 2_000
"""Conversations that a client has numbers for."""
BATCH = 8
SAMPLE_SECONDS = 5.0
MOST_SECONDS_WITHOUT_PROGRESS = 600.0

_METHOD = """`neurigraph up` runs as a person starts it: API, Dagster's daemon, code server and UI, Postgres. For
{seconds:.0f} s, {clients} clients of {users} users call the API without a pause: each hands in a conversation of 20
to 30 messages, ends it, and searches {searches} times. Batches have at most {batch} segments, so that there are many
runs. Then nothing is handed in, and what is left is followed until everything is stored. The age of the queue is that
of `/readyz`: how long the oldest due segment has waited. Runs are all runs of Dagster, by job and status, at the end.
Lost is a conversation that was accepted and is not stored; doubled are messages that two memories hold."""

_RUNS = "{ runsOrError { ... on Runs { results { jobName status } } } }"
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")
_STORED = """SELECT count(*) FILTER (WHERE s.stored_through = s.last_message) AS stored, count(*) AS handed_in,
    sum(s.last_message)::bigint AS messages
FROM neurigraph.sources AS s WHERE s.ended_at IS NOT NULL"""
_HELD = "SELECT sum(u.passages)::bigint AS passages FROM neurigraph.node_statistics AS u"
_FAILED = "SELECT count(*) AS failed FROM neurigraph.pipeline_failures"


@dataclass(slots=True)
class _Answers:
    """What the API answered to all clients."""

    accepted: int = 0
    searches: int = 0
    lagging: int = 0
    others: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The queue at one moment, in seconds since the flood began."""

    after: float
    age: float
    waiting: int


class _Queue:
    """Samples of the queue while a block runs."""

    def __init__(self, bench: Bench, installation: Installation) -> None:
        self._bench, self._installation = bench, installation
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[_Sample] = []

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> _Sample:
        """Take a sample."""
        stored, handed_in, _ = _counts(self._installation)
        sample = _Sample(
            time.monotonic() - self._started, readiness.queue_age(self._installation.database), handed_in - stored
        )
        self.samples.append(sample)
        return sample

    def await_empty(self) -> bool:
        """Wait until everything is stored; return whether it is, or nothing goes on any more."""
        fewest, since = self.look().waiting, time.monotonic()
        while fewest and time.monotonic() - since < MOST_SECONDS_WITHOUT_PROGRESS:
            time.sleep(1)
            if (waiting := self.look().waiting) < fewest:
                fewest, since = waiting, time.monotonic()
        return fewest == 0

    def await_runs(self, stack: LocalStack) -> Counter[tuple[str, str]]:
        """Wait until no run goes on, or for as long as above; return how many there were of each job and status."""
        until = time.monotonic() + MOST_SECONDS_WITHOUT_PROGRESS
        while True:
            runs = graphql(stack, _RUNS)["runsOrError"]["results"]
            if all(one["status"] in _ENDED for one in runs) or time.monotonic() > until:
                return Counter((one["jobName"], one["status"]) for one in runs)
            time.sleep(1)

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            now = self.look()
            self._bench.say(f"{now.after:5.0f} s: {now.waiting} wait, the oldest for {now.age:.0f} s")


def run(bench: Bench) -> Section:
    """Flood an installation that runs as a whole, and follow it to the end."""
    clients, seconds = (QUICK_CLIENTS, QUICK_FLOOD_SECONDS) if bench.quick else (CLIENTS, FLOOD_SECONDS)
    with bench.installation() as made, exported(bench.environment(made) | _settings()), Installation() as installation:
        users = [create_user(made.database, f"flood-{one}")[0] for one in range(USERS)]
        bench.say("starting everything")
        with LocalStack(installation, with_api=True) as stack:
            with _Queue(bench, installation) as queue:
                answers = _flood(stack, made, users, clients, seconds)
                at_end = queue.look()
                emptied = queue.await_empty()
                last = queue.samples[-1]
                runs = queue.await_runs(stack)
            rows = _queue_rows(queue.samples, at_end, last, emptied=emptied)
            body = "\n\n".join((rows, _run_rows(runs), _said(answers, installation)))
    method = _METHOD.format(seconds=seconds, clients=clients, users=USERS, searches=SEARCHES, batch=BATCH)
    return Section("A flood", method, body)


def _settings() -> dict[str, str]:
    return {
        "NEURIGRAPH_API_REQUESTS_PER_MINUTE": "1e9",
        "NEURIGRAPH_BATCH_MAX_SEGMENTS": str(BATCH),
        "NEURIGRAPH_UI_PORT": "0",
        "NEURIGRAPH_API_PORT": "0",
    }


def _flood(stack: LocalStack, installation: Installation, users: list[User], clients: int, seconds: float) -> _Answers:
    assert stack.api is not None
    answers, until = _Answers(), time.monotonic() + seconds
    keys = [issue_api_key(installation.database, user.user_id) for user in users]
    url = stack.api.url
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda one: _call(url, keys[one % USERS], NUMBERS * one, until, answers), range(clients)))
    return answers


def _call(url: str, key: str, first: int, until: float, answers: _Answers) -> None:
    """Hand in and search until a moment. A conversation counts as accepted once its end was answered."""
    mine, number_ = _Answers(), first
    with Caller(url, key) as caller:

        def post(path: str, body: Any = None) -> Any:
            status, answer = caller.post(path, body)
            if status >= 300:
                mine.others[status] += 1
                return None
            mine.lagging += "Neurigraph-Lag" in caller.headers
            return answer

        while time.monotonic() < until:
            number_ += 1
            one = conversation(number_)
            opened = post("/v1/conversations", {"title": one.title, "external_id": one.external_id})
            if opened is not None:
                place = f"/v1/conversations/{UUID(opened['conversation_id'])}"
                said = [{"role": message.role.value, "content": message.content} for message in one.messages]
                if post(f"{place}/messages", {"messages": said}) and post(f"{place}/end"):
                    mine.accepted += 1
            for _ in range(SEARCHES):
                mine.searches += post("/v1/search", {"query": f"What is filed under {reference(number_)}?"}) is not None
    with answers.lock:
        answers.accepted += mine.accepted
        answers.searches += mine.searches
        answers.lagging += mine.lagging
        answers.others += mine.others


def _counts(installation: Installation) -> tuple[int, int, int]:
    """Return how many conversations are stored, how many were handed in and how many messages these have."""
    with installation.database.pipeline() as tx:
        row = tx.execute(_STORED).fetchone()
    assert row is not None
    return int(row["stored"]), int(row["handed_in"]), int(row["messages"] or 0)


def _number(installation: Installation, query: str) -> int:
    with installation.database.pipeline() as tx:
        row = tx.execute(query).fetchone()
    assert row is not None
    return int(next(iter(row.values())) or 0)


def _queue_rows(samples: list[_Sample], at_end: _Sample, last: _Sample, *, emptied: bool) -> str:
    marks = [next(one for one in samples if one.after >= share * at_end.after) for share in (0.25, 0.5, 0.75, 1.0)]
    named = [(mark, "during the flood") for mark in marks]
    named.append((max(samples, key=lambda one: one.age), "the oldest of all"))
    named.append((last, "everything is stored" if emptied else "nothing goes on any more"))
    rows = [[f"{one.after:.0f}", when, str(one.waiting), number(one.age)] for one, when in named]
    return table(("seconds", "", "conversations that wait", "age of the queue, s"), rows)


def _run_rows(runs: Counter[tuple[str, str]]) -> str:
    return table(("job", "status", "runs"), [[*key, str(count)] for key, count in sorted(runs.items())])


def _said(answers: _Answers, installation: Installation) -> str:
    stored, handed_in, messages = _counts(installation)
    doubled = _number(installation, _HELD) - messages
    faults = ", ".join(f"{count} times {status}" for status, count in sorted(answers.others.items())) or "none"
    return (
        f"{answers.accepted:,} conversations accepted and {answers.searches:,} searches answered; other answers: "
        f"{faults}. {answers.lagging:,} answers said that memory lags. {stored:,} of {handed_in:,} are stored, "
        f"{handed_in - stored} lost, {max(0, doubled)} messages doubled, {_number(installation, _FAILED)} failures for "
        "a person."
    )
