"""Limits on the processor time that a step may take for one segment, and the time that it took.

Only the thread's own processor time counts: a busy machine, a slow provider and a pause of a rate limit fail no
segment. Providers and the database have their own time-outs.
"""

from __future__ import annotations

import ctypes
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
    watch = _Watch(seconds)
    try:
        try:
            yield
        finally:
            watch.end()
    except _OutOfTimeError:
        raise StepTimeoutError(
            f"{step} took more than {seconds:,.0f} s of processor time for {tokens:,} tokens: "
            "raise NEURIGRAPH_STEP_SECONDS and replay it, or store its source in smaller parts"
        ) from None


class _Watch:
    """Watches the processor time of the thread that creates it."""

    def __init__(self, seconds: float) -> None:
        self._thread_id = threading.get_ident()
        self._used = _thread_clock()
        self._limit = self._used() + seconds
        self._fired = False
        self._ended = threading.Event()
        self._raising = threading.Lock()
        threading.Thread(target=self._watch, name="time limit", daemon=True).start()

    def end(self) -> None:
        """Stop watching; after the return nothing is raised any more."""
        with self._raising:
            self._ended.set()
        if self._fired:
            _raise_in(self._thread_id, None)

    def _watch(self) -> None:
        # Processor time passes no faster than the clock on the wall, so few looks are enough.
        while not self._ended.wait(max(self._left(), _SHORTEST_WAIT_SECONDS)):
            with self._raising:
                if self._left() <= 0 and not self._ended.is_set():
                    self._fired = True
                    _raise_in(self._thread_id, _OutOfTimeError)
                    return

    def _left(self) -> float:
        """Return the seconds of processor time that are left; many once the watched thread has ended."""
        try:
            return self._limit - self._used()
        except OSError:  # a thread that has ended has no clock
            return threading.TIMEOUT_MAX


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
