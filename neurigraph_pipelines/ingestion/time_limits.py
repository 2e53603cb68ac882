"""Limits on the processor time that a step may take for one segment, and the time that it took.

Only the thread's own processor time counts: a busy machine, a slow provider and a pause of a rate limit fail no
segment. Providers and the database have their own time-outs.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar
from uuid import UUID

from neurigraph_pipelines.model import Segment, SegmentRef
from neurigraph_pipelines.model.errors import StepTimeoutError
from neurigraph_pipelines.settings import Settings

_SHORTEST_WAIT_SECONDS = 0.01
_Result = TypeVar("_Result")


class _OutOfTimeError(BaseException):
    """Raised in the thread of the step; no ``except Exception`` on the way up takes it for a usual error."""


def unlimited(_: object) -> AbstractContextManager[None]:
    """Return a context manager that limits nothing."""
    return nullcontext()


class StepClock:
    """Limits and measures one step of a batch, segment by segment.

    Attributes:
        seconds: Elapsed seconds by trigger.
    """

    def __init__(self, settings: Settings, step: str) -> None:
        self._settings = settings
        self._step = step
        self.seconds: dict[UUID, float] = {}

    @contextmanager
    def of(self, ref: SegmentRef) -> Iterator[None]:
        """Limit and measure the block, which works on one segment.

        Raises:
            StepTimeoutError: The block took too long.
        """
        started = time.monotonic()
        try:
            with time_limit(self._settings, self._step, ref.token_count):
                yield
        finally:
            taken = time.monotonic() - started
            self.seconds[ref.trigger_id] = self.seconds.get(ref.trigger_id, 0.0) + taken

    def run(self, work: Callable[[Segment], _Result], part: Segment) -> _Result:
        """Return the result of some work on a segment or a part of one, limited and measured.

        Raises:
            StepTimeoutError: The work took too long.
        """
        with self.of(part.ref):
            return work(part)


@contextmanager
def time_limit(settings: Settings, step: str, tokens: int) -> Iterator[None]:
    """End the block once it has taken ``step_seconds``, and a second for each ``step_tokens_per_second`` tokens.

    A watching thread raises an exception in this one, so the block ends between two operations of Python. The block
    must not commit anything.

    Raises:
        StepTimeoutError: The block took too long.
    """
    seconds = settings.ingestion.step_seconds + tokens / settings.ingestion.step_tokens_per_second
    limit = _Limit(seconds)
    try:
        try:
            _WATCHER.add(limit)
            yield
        finally:
            _WATCHER.remove(limit)
    except _OutOfTimeError:
        raise StepTimeoutError(
            f"{step} took more than {seconds:,.0f} s of processor time for {tokens:,} tokens: "
            "raise NEURIGRAPH_STEP_SECONDS and replay it, or store its source in smaller parts"
        ) from None


class _Limit:
    """The processor time that the thread which creates it may use from now on."""

    def __init__(self, seconds: float) -> None:
        self.thread_id = threading.get_ident()
        self.has_fired = False
        self._used = _thread_clock()
        self._end = self._used() + seconds

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._end - self._used()


class _Watcher:
    """A thread that watches all limits of the process: to start one for each took longer than most of what they limit.

    It sleeps until the first limit can be reached, whichever limits end before, and ends when it then finds none.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Watch nothing, as in a process that was forked, where the thread is missing."""
        # A limit above may raise anywhere: only `with` of a plain lock always lets go of it again.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._limits: set[_Limit] = set()
        self._wakes_at: float | None = None

    def add(self, limit: _Limit) -> None:
        """Watch a limit of this thread."""
        with self._lock:
            self._limits.add(limit)
            if self._wakes_at is None:
                threading.Thread(target=self._watch, name="time limit", daemon=True).start()
                self._wakes_at = 0.0
            elif time.monotonic() + limit.left() < self._wakes_at:
                self._changed.notify()

    def remove(self, limit: _Limit) -> None:
        """Stop watching a limit of this thread; after the return nothing is raised any more."""
        with self._lock:
            self._limits.discard(limit)
        if limit.has_fired:
            _raise_in(limit.thread_id, None)

    def _watch(self) -> None:
        with self._lock:
            # Processor time passes no faster than the clock on the wall, so few looks are enough.
            while left := [limit.left() for limit in self._limits]:
                seconds = max(min(left), _SHORTEST_WAIT_SECONDS)
                self._wakes_at = time.monotonic() + seconds
                self._changed.wait(seconds)
                for limit in [one for one in self._limits if one.left() <= 0]:
                    self._limits.remove(limit)
                    limit.has_fired = True
                    _raise_in(limit.thread_id, _OutOfTimeError)
            self._wakes_at = None


_WATCHER = _Watcher()
os.register_at_fork(after_in_child=_WATCHER.reset)


def _thread_clock() -> Callable[[], float]:
    """Return the clock of this thread's processor time; that of the process where there is none, as on macOS."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(clock)


def _raise_in(thread_id: int, error: type[BaseException] | None) -> None:
    """Let a thread raise ``error`` at its next operation; None takes back an error that it has not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), ctypes.py_object(error) if error is not None else None
    )
