"""The bound of one request's total wait for connections, over all connections that it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_SHORTEST_SECONDS = 0.01


@dataclass(slots=True)
class _Bound:
    """The seconds that are left, which the threads of one request share; the first wait counts from its arrival."""

    left: float
    since: float | None


_bound: ContextVar[_Bound | None] = ContextVar("waits", default=None)


@contextmanager
def bounded_waits(seconds: float) -> Iterator[None]:
    """Bound the total wait of the block to so many seconds; a bound of an outer block stays in force."""
    if _bound.get() is not None:
        yield
        return
    token = _bound.set(_Bound(seconds, time.monotonic()))
    try:
        yield
    finally:
        _bound.reset(token)


class Wait:
    """One wait: its bound, which is the request's remaining time, and its end."""

    def __init__(self, most: float) -> None:
        self._of_request = _bound.get()
        self._since = time.monotonic()
        left = most
        if self._of_request is not None:
            if self._of_request.since is not None:  # it may have waited for a thread
                self._since, self._of_request.since = self._of_request.since, None
            left = min(most, self._of_request.left - (time.monotonic() - self._since))
        self.seconds = max(left, _SHORTEST_SECONDS)

    def end(self) -> None:
        """Subtract the duration of the wait from the remaining time; only the first call counts."""
        if self._of_request is not None:
            self._of_request.left -= time.monotonic() - self._since
            self._of_request = None
