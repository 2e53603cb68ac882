"""A cached value that one thread at most reads again, however many callers ask for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Newest(Generic[Value]):
    """The newest value of a function. A thread of its own calls the function once the value is no longer valid.

    Args:
        name: Name of the thread.
        read: Reads the value.
        valid_seconds: Returns for how long a value is valid.
    """

    def __init__(self, name: str, read: Callable[[], Value], valid_seconds: Callable[[Value], float]) -> None:
        self._name = name
        self._read = read
        self._valid_seconds = valid_seconds
        self._lock = threading.Lock()
        self._newest: Future[Value] | None = None
        self._valid_until = 0.0

    def get(self, wait_seconds: float) -> Value:
        """Return the value.

        Raises:
            TimeoutError: It could not be read in time; the thread goes on, and a later call may find its value.
        """
        return self.future().result(wait_seconds)

    def future(self) -> Future[Value]:
        """Return the future of the value, which nobody cancels: others wait for it, too."""
        with self._lock:
            newest = self._newest
            if newest is None or (newest.done() and time.monotonic() > self._valid_until):
                newest = self._newest = Future()
                threading.Thread(target=self._run, args=(newest,), name=self._name, daemon=True).start()
        return newest

    def _run(self, future: Future[Value]) -> None:
        try:
            value = self._read()
            self._valid_until = time.monotonic() + self._valid_seconds(value)
        except BaseException as error:  # the callers of `get` take it
            future.set_exception(error)
        else:
            future.set_result(value)
