"""Time from "ended" to "searchable" with a real Dagster daemon, and its parts."""

from __future__ import annotations

import json
import random
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.bench import Bench, exported
from benchmarks.chat import conversation, reference
from benchmarks.report import Section, number, percentile, spread, table
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.wiring.installation import Installation

ONE_BY_ONE = 5
BURST = 50
SENSOR_SECONDS = 10.0
"""The time between two ticks of `conversation_end_sensor`."""

POLL_SECONDS = 0.25
PATIENCE_SECONDS = 180.0

_METHOD = """Dagster's webserver and daemon run as `neurigraph up` runs them. A conversation of 20 to 30 messages is
put into the inbox and ended at a random moment of ten seconds. From then on a search runs four times a
second until it returns the record. The parts come from Dagster's own record of the run: until the sensor's tick
requested the run, in the queue, until the worker's first step could start, and in the steps until the record was
found. The queue and the worker's start are what a run costs beside its steps. The first conversation after the start
is not counted. Then fifty conversations end at once. The baseline is the
same job on similar conversations in this process, without Dagster, in the same installation."""

_RUNS = """{ runsOrError { ... on Runs { results { runId status jobName
    stats { ... on RunStatsSnapshot { enqueuedTime launchTime startTime endTime } } } } } }"""


@dataclass(frozen=True, slots=True)
class _Life:
    """Times of one conversation, in seconds since the epoch."""

    ended: float
    enqueued: float
    launched: float
    started: float
    searchable: float

    @property
    def parts(self) -> dict[str, float]:
        """Return the seconds of each part."""
        return {
            "waiting for the sensor's tick": self.enqueued - self.ended,
            "in the queue": self.launched - self.enqueued,
            "the worker's start": self.started - self.launched,
            "in the steps, until searchable": self.searchable - self.started,
            "from ended to searchable": self.searchable - self.ended,
        }


class _Application:
    """An application that adds conversations, ends them and searches."""

    def __init__(self, installation: Installation, user: User) -> None:
        self._installation = installation
        self._user = user
        self._claims = Claims.of_user(user.user_id)
        self._inbox = Inbox(installation.context)
        self._numbers = iter(range(1_000_000))

    def put(self) -> int:
        """Add a new open conversation and return its number."""
        number_ = next(self._numbers)
        chat = conversation(number_)
        with self._installation.database.agent(self._claims) as tx:
            source_id, _ = self._inbox.open_source(
                tx, self._user.user_id, SourceKind.CONVERSATION, external_id=chat.external_id, title=chat.title
            )
            self._inbox.append(tx, SourceKind.CONVERSATION, source_id, chat.messages)
        return number_

    def end(self, number_: int) -> float:
        """End a conversation and return the time of the commit."""
        with self._installation.database.agent(self._claims) as tx:
            source_id, _ = self._inbox.open_source(
                tx, self._user.user_id, SourceKind.CONVERSATION, external_id=f"chat-{number_}"
            )
            self._inbox.end(tx, SourceKind.CONVERSATION, source_id)
        return time.time()

    def finds(self, number_: int) -> bool:
        """Return whether a search finds its record."""
        installation = self._installation
        question = Question(f"What did I file under {reference(number_)}?")
        answer = search(installation.acting_for(self._claims), question)
        return any(hit.stored and hit.source_external_id == f"chat-{number_}" for hit in answer.hits)

    def store_here(self) -> None:
        """Run the whole job on ended conversations in this process."""
        installation = self._installation
        for result in run_due(installation.context, "benchmark", self._user.user_id):
            assert not result.returned, result.returned


def run(bench: Bench) -> Section:
    """Measure single conversations, then a burst, then the same without Dagster."""
    singles, burst = (1, 3) if bench.quick else (ONE_BY_ONE, BURST)
    with bench.installation() as installation, exported(bench.environment(installation)):
        application = _Application(installation, create_user(installation.database, "daemon")[0])
        bench.say("starting Dagster")
        with LocalStack(installation, with_api=False) as stack:
            _one(application, stack, 0.0)  # the first run compiles, connects and loads for the first time
            lives = []
            phases = random.Random(7)
            for done in range(singles):
                bench.say(f"conversation {done + 1} of {singles}")
                lives.append(_one(application, stack, phases.uniform(0, SENSOR_SECONDS)))
            bench.say(f"{burst} at once")
            waits, runs = _burst(application, stack, burst)
        bench.say("without Dagster")
        alone = [_alone(application, 1) for _ in range(singles)]
        together = _alone(application, burst)
    return Section("Time from ended to searchable", _METHOD, _tables(lives, waits, runs, alone, together))


def _one(application: _Application, stack: LocalStack, phase: float) -> _Life:
    """End one conversation after ``phase`` seconds and wait until its run is over."""
    number_ = application.put()
    known = {run["runId"] for run in _runs(stack)}
    time.sleep(phase)
    ended = application.end(number_)
    searchable = next(_found(application, stack, [number_]))
    run = next(run for run in _idle_runs(stack) if run["runId"] not in known)
    stats = run["stats"]
    return _Life(ended, stats["enqueuedTime"], stats["launchTime"], stats["startTime"], searchable)


def _burst(application: _Application, stack: LocalStack, count: int) -> tuple[list[float], int]:
    """End many at once.

    Returns:
        Seconds from the end of the last until each was searchable, and the number of runs it took.
    """
    before = len(_idle_runs(stack))
    numbers = [application.put() for _ in range(count)]
    ended = max([application.end(number_) for number_ in numbers])
    waits = [found - ended for found in _found(application, stack, numbers)]
    return waits, len(_idle_runs(stack)) - before


def _found(application: _Application, stack: LocalStack, numbers: Sequence[int]) -> Iterator[float]:
    """Yield the time at which each conversation is found. Records are committed in the order in which they ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for number_ in numbers:
        while not application.finds(number_):
            stack.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"conversation {number_} is not found after {PATIENCE_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)
        yield time.time()


def _alone(application: _Application, count: int) -> float:
    numbers = [application.put() for _ in range(count)]
    started = [application.end(number_) for number_ in numbers][-1]
    application.store_here()
    assert application.finds(numbers[-1])
    return time.time() - started


def _tables(lives: Sequence[_Life], waits: Sequence[float], runs: int, alone: Sequence[float], together: float) -> str:
    total = sum(life.parts["from ended to searchable"] for life in lives)
    rows = [
        [name, spread([life.parts[name] for life in lives]), f"{sum(life.parts[name] for life in lives) / total:.0%}"]
        for name in lives[0].parts
    ]
    rows.append(["the same job in this process", spread(alone), f"{sum(alone) / total:.0%}"])
    single = table([f"{len(lives)} conversations, one at a time", "seconds", "share"], rows)
    several = table(
        [f"{len(waits)} conversations at once", "seconds"],
        [
            ["half of them searchable", number(percentile(waits, 50))],
            ["all of them searchable", number(max(waits))],
            ["runs", str(runs)],
            ["the same in this process", number(together)],
        ],
    )
    return f"{single}\n\n{several}"


def _idle_runs(stack: LocalStack) -> list[dict[str, Any]]:
    """Wait until no run is active, and return all runs of the ingestion job, newest first."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        stack.check()
        runs = _runs(stack)
        if all(run["status"] == "SUCCESS" for run in runs):
            return runs
        failed = [run["runId"] for run in runs if run["status"] in ("FAILURE", "CANCELED")]
        if failed or time.monotonic() > deadline:
            raise RuntimeError(f"runs failed or hang: {failed or runs}")
        time.sleep(POLL_SECONDS)


def _runs(stack: LocalStack) -> list[dict[str, Any]]:
    """Return the runs of the ingestion job from Dagster's GraphQL API."""
    request = urllib.request.Request(
        f"{stack.ui.url}/graphql",
        data=json.dumps({"query": _RUNS}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {stack.dagster.token}"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        results: list[dict[str, Any]] = json.load(response)["data"]["runsOrError"]["results"]
    return [run for run in results if run["jobName"] == "ingestion_job"]
