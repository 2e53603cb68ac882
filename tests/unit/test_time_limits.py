"""Time limits of steps: the processor time of one segment is bounded, and only its own work ends."""

from __future__ import annotations

import os
import threading
import time

import pytest

from neurigraph_pipelines.ingestion.time_limits import StepClock, time_limit
from neurigraph_pipelines.model.errors import StepTimeoutError
from neurigraph_pipelines.settings import Settings
from tests.support.proposals import segment_of


def settings(seconds: float, tokens_per_second: int = 1_000_000) -> Settings:
    return Settings.model_validate({"step_seconds": seconds, "step_tokens_per_second": tokens_per_second})


def compute(seconds: float) -> None:
    """Use processor time, as a step without an end would; nothing in it handles the end."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        try:
            sum(range(1_000))
        except Exception:
            pytest.fail("the limit looked like an error of the step")


def test_endless_step_ends() -> None:
    started = time.thread_time()
    with (
        pytest.raises(
            StepTimeoutError, match=r"^summarize took more than 0 s of processor time for 1,000 tokens: raise"
        ),
        time_limit(settings(0.2), "summarize", 1_000),
    ):
        compute(60)
    assert 0.2 <= time.thread_time() - started < 10
    compute(0.3)  # nothing is raised afterwards


def test_time_in_the_limit_and_waiting_do_not_count() -> None:
    started = time.thread_time()
    with time_limit(settings(0.5), "summarize", 0):
        compute(0.1)
        time.sleep(0.7)
    assert time.thread_time() - started >= 0.1


def test_tokens_lengthen_the_limit() -> None:
    started = time.thread_time()
    with time_limit(settings(0.1, 1_000), "summarize", 60_000):
        compute(0.3)
    assert time.thread_time() - started >= 0.3


def test_other_threads_go_on() -> None:
    """Two segments at once: the slow one ends, and the other one's time is its own."""
    fast, slow = segment_of([None]).ref, segment_of([None]).ref
    clock = StepClock(settings(0.3), "summarize")
    ended: list[str] = []

    def work() -> None:
        with clock.of(fast):
            for _ in range(20):
                compute(0.01)
                time.sleep(0.02)
        ended.append("fast")

    thread = threading.Thread(target=work)
    thread.start()
    with pytest.raises(StepTimeoutError), clock.of(slow):
        compute(60)
    thread.join()
    assert ended == ["fast"]
    assert clock.seconds[slow.trigger_id] >= 0.3
    assert clock.seconds[fast.trigger_id] >= 0.4


def test_end_beside_the_limit() -> None:
    """A step that ends at the moment of its limit is stored or fails; nothing is raised later."""
    failed = 0
    for number in range(60):
        try:
            with time_limit(settings(0.01), "summarize", 0):
                compute(0.0085 + number * 0.00005)
        except StepTimeoutError:
            failed += 1
        compute(0.002)
    assert failed < 60


def test_thread_may_end_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher reads no clock of a thread that has ended."""
    failed: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)

    def work() -> None:
        with time_limit(settings(0.02), "summarize", 0):
            time.sleep(0.02)

    for _ in range(20):
        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []


def test_short_limit_ends_beside_longer_ones() -> None:
    """The thread that watches all limits sleeps for the longest, and wakes for a shorter one that comes."""
    with time_limit(settings(60), "embed", 0), time_limit(settings(60), "embed", 0):
        time.sleep(0.05)
        with pytest.raises(StepTimeoutError), time_limit(settings(0.1), "summarize", 0):
            compute(60)


def test_limits_hold_in_a_fork() -> None:
    """A fork has no watching thread until it needs one."""
    with time_limit(settings(60), "summarize", 0):
        child = os.fork()
        if child == 0:
            try:
                with time_limit(settings(0.1), "summarize", 0):
                    compute(60)
            except StepTimeoutError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
