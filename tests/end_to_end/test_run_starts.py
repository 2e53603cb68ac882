"""Runs whose start fails or takes too long, or one of whose steps fails: none is lost, and none is stored twice.

Under load, starting a process once took longer than Dagster waits for it, and the run failed for good. Here the process
is stopped as soon as it is there, so that it takes as long as the test wants. ``docs/reliability.md`` says of each test
what it shows.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.runtime.stack.processes import CODE_SERVER, DAEMON
from tests.support.breakable_stack import BreakableStack, breakable_stack, waiters
from tests.support.dagster_stack import (
    await_true,
    execute_again,
    newest_run,
    run_messages,
    run_statuses,
    steps_of,
    terminate,
)
from tests.support.failed_segments import refusing_after_keywords
from tests.support.model_provider import Fault
from tests.support.record_checks import Reader, orphans, whole_records
from tests.support.up_process import children_of
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.end_to_end, pytest.mark.proof]

RETURNED = "re-submitting the run into the queue"
TIMED_OUT = "Run timed out due to taking longer than"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BreakableStack]:
    # Runs that read facts would begin every minute, and those of the tests would wait behind them.
    with breakable_stack(tmp_path_factory.mktemp("starts"), None, NEURIGRAPH_FACTS="false") as started:
        user = started.user()
        started.say(user, "First")
        started.stored_once(user)
        yield started


def impatient(running: BreakableStack, *, deadline: int, start_timeout: int) -> None:
    """Start the daemon again, with other times in seconds: for its requests, and until a run counts as not started."""
    stack = running.stack
    file = stack.dagster.folder / "dagster.yaml"
    text = file.read_text("utf-8")
    for name, value in {"start_timeout_seconds": start_timeout, "poll_interval_seconds": 2}.items():
        text, found = re.subn(rf"{name}: \d+", f"{name}: {value}", text)
        assert found == 1
    file.write_text(text, "utf-8")
    stack.dagster.environment["DAGSTER_GRPC_TIMEOUT_SECONDS"] = str(deadline)
    another_daemon(running)


def another_daemon(running: BreakableStack) -> None:
    """Kill the daemon, and wait until another runs."""
    stack = running.stack
    os.kill(killed := stack.pids()[DAEMON], signal.SIGKILL)
    await_true(lambda: stack.pids().get(DAEMON, killed) != killed, "another daemon runs")


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def spawned(running: BreakableStack, known: set[int]) -> int:
    """Wait until the code server has spawned another process of a run; return its id."""
    server = running.stack.pids()[CODE_SERVER]

    def found() -> list[int]:
        return [pid for pid, command in children_of(server) if "spawn_main" in command and pid not in known]

    wait_until(found, "a process is spawned", PATIENCE_SECONDS, interval=0.05)
    return found()[0]


def spawned_before(running: BreakableStack) -> set[int]:
    """Return the processes that the code server has spawned so far."""
    return {pid for pid, _ in children_of(running.stack.pids()[CODE_SERVER])}


def leased(running: BreakableStack, user: User) -> str:
    """Wait until the only segment of a user is leased; return the key of its run."""
    await_true(lambda: any(row["batch_id"] is not None for row in running.triggers(user)), "it is leased")
    return running.run_key(user)


def test_start_is_given_up_late_but_before_run_counts_as_failed(running: BreakableStack) -> None:
    """Dagster's own deadline is 60 seconds. With 32 clients and load 33, new processes took longer to start."""
    dagster = running.stack.dagster
    started = re.search(r"start_timeout_seconds: (\d+)", (dagster.folder / "dagster.yaml").read_text("utf-8"))
    assert started is not None
    assert 180 <= int(dagster.environment["DAGSTER_GRPC_TIMEOUT_SECONDS"]) < int(started[1])


def test_run_returns_to_queue_when_its_process_does_not_start(running: BreakableStack) -> None:
    here, user = running.installation, running.user()
    impatient(running, deadline=10, start_timeout=120)
    with Reader(here, [user], "Who says hello?"):
        known = spawned_before(running)
        running.say(user, "Slow")
        with stopped(spawned(running, known)):
            key = leased(running, user)
            await_true(lambda: any(RETURNED in line for line in run_messages(running.stack, key)), "it is given up")
            assert run_statuses(running.stack, key)[0] in ("QUEUED", "STARTING")
        running.stored_once(user)
    await_true(lambda: run_statuses(running.stack, key)[0] == "SUCCESS", "the run ends")
    assert orphans(here, [user]) == set()


def test_run_that_did_not_start_in_time_is_repeated(running: BreakableStack) -> None:
    here, user = running.installation, running.user()
    impatient(running, deadline=240, start_timeout=10)
    with Reader(here, [user], "Who says hello?"):
        known = spawned_before(running)
        running.say(user, "Late")
        with stopped(spawned(running, known)):
            key = leased(running, user)
            await_true(lambda: "FAILURE" in run_statuses(running.stack, key), "it is called failed")
            assert any(TIMED_OUT in line for line in run_messages(running.stack, key))
        impatient(running, deadline=240, start_timeout=300)  # or a busy machine would be too slow for the repetition
        running.stored_once(user)
    await_true(lambda: run_statuses(running.stack, key)[0] == "SUCCESS", "the repetition ends well")
    assert orphans(here, [user]) == set()


def test_failed_step_is_executed_again_alone(running: BreakableStack) -> None:
    """As a person does in the UI: the page of the run, "Re-execute", "From failure"."""
    here, user = running.installation, running.user()
    with Reader(here, [user], "Who says hello?"):
        with refusing_after_keywords(here, user):
            running.say(user, "Refused")
            key = leased(running, user)
            await_true(lambda: run_statuses(running.stack, key) == ["FAILURE"], "a step fails for good")
        asked = len(running.provider.requests)
        again = execute_again(running.stack, key)
        running.stored_once(user)
        since = running.provider.requests[asked:]
    await_true(lambda: run_statuses(running.stack, key)[0] == "SUCCESS", "the second run ends well")
    # Dagster executes `embed` before `extract_keywords`, whose result lets the next step be refused.
    assert steps_of(running.stack, again) == {"memories.commit"}
    asked_again = [request.path for request in since if request.asks("Refused")]
    assert asked_again == ["/v1/embeddings"], "no summary and no keywords are asked for again"
    with here.database.pipeline() as tx:
        left = tx.execute("SELECT count(*) AS n FROM neurigraph.step_results WHERE user_id = %s", [user.user_id])
        assert left.fetchall() == [{"n": 0}]


@contextmanager
def held_before_embedding(running: BreakableStack) -> Iterator[Callable[[], bool]]:
    """Let runs wait where one step has ended and `embed` has not begun; yield whether one waits."""
    with psycopg.connect(running.installation.dagster_address, autocommit=True) as connection:
        connection.execute("""CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_advisory_xact_lock(24); RETURN new; END $$""")
        connection.execute("""CREATE TRIGGER hold BEFORE INSERT ON event_logs FOR EACH ROW
            WHEN (new.step_key = 'memories.embed' AND new.dagster_event_type = 'STEP_START')
            EXECUTE FUNCTION hold()""")
        connection.execute("SELECT pg_advisory_lock(24)")
        try:
            yield lambda: waiters(running.installation, connection) > 0
        finally:
            connection.execute("SELECT pg_advisory_unlock(24)")
            connection.execute("DROP FUNCTION hold CASCADE")


def test_run_killed_between_two_steps_goes_on(running: BreakableStack) -> None:
    here, user, provider = running.installation, running.user(), running.provider
    with Reader(here, [user], "Who says hello?"):
        with held_before_embedding(running) as is_held:
            running.say(user, "Between")
            key = leased(running, user)
            await_true(is_held, "the summary is there, and `embed` has not begun")
            asked = len(provider.requests)
            os.kill(running.worker(user), signal.SIGKILL)
        running.stored_once(user)
        since = provider.requests[asked:]
    await_true(lambda: run_statuses(running.stack, key)[0] == "SUCCESS", "another run ends well")
    again = steps_of(running.stack, newest_run(running.stack, key))
    assert again == {"memories.embed", "memories.extract_keywords", "memories.commit"}
    asked_again = sorted(request.path for request in since if request.asks("Between"))
    assert asked_again == ["/v1/chat/completions", "/v1/embeddings"], "what was kept is not asked for again"
    assert any(request.asks("Between", "KeywordsAnswer") for request in since)
    assert orphans(here, [user]) == set()


def test_terminated_run_is_canceled(running: BreakableStack) -> None:
    """As a person does in the UI: "Terminate"."""
    here, user, provider = running.installation, running.user(), running.provider
    with Reader(here, [user], "Who says hello?"):
        provider.fail_when("Endless", Fault("stall", seconds=600.0), "SegmentAnswer SummaryAnswer")
        running.say(user, "Endless")
        key = leased(running, user)
        await_true(lambda: provider.held("Endless") > 0, "a step waits for the provider")
        terminate(running.stack, key)
        await_true(lambda: run_statuses(running.stack, key)[-1] == "CANCELED", "the run ends")
        assert whole_records(here, user) == 0
        provider.mend("Endless")
        running.stored_once(user)
    assert run_statuses(running.stack, key)[-1] == "CANCELED"
    assert orphans(here, [user]) == set()
