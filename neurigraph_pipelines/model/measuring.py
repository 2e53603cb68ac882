"""Hooks by which a process measures and traces what it does. Without a listener they cost almost nothing.

Code marks its edges with ``span`` or ``measured``, and reports numbers with ``report``. Listeners of ``resources`` turn
them into metrics and traces. No name and no attribute holds text of a user.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from types import TracebackType
from typing import ParamSpec, Protocol, Self, TypeVar

Attribute = str | int
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Item = TypeVar("Item")


class Listener(Protocol):
    """A receiver of measurements of a process. Its methods must be quick, thread-safe, and must not raise."""

    def begin(self, name: str, parent: str | None) -> object:
        """Begin a block.

        Args:
            name: One of a closed set, such as ``search.rank``.
            parent: The ``traceparent`` of the caller, if another service called.

        Returns:
            What ``end`` is given.
        """
        ...

    def end(
        self,
        name: str,
        begun: object,
        seconds: float,
        attributes: Mapping[str, Attribute],
        error: type[BaseException] | None,
    ) -> None:
        """End a block that took so many seconds; an error's class is known, and never its message."""
        ...

    def done(self, name: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Take a block that has just ended and held no other."""
        ...

    def report(self, event: str, values: Mapping[str, float]) -> None:
        """Take the numbers of an event."""
        ...


class Spending:
    """A listener that counts the calls of chat models, and the tokens that the services say they took.

    Attributes:
        calls: Answers, unusable ones included.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.sent = 0
        self.received = 0
        self._counting = threading.Lock()

    def begin(self, name: str, parent: str | None) -> object:
        """Times are not counted."""

    def end(
        self,
        name: str,
        begun: object,
        seconds: float,
        attributes: Mapping[str, Attribute],
        error: type[BaseException] | None,
    ) -> None:
        """Times are not counted."""

    def done(self, name: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Times are not counted."""

    def report(self, event: str, values: Mapping[str, float]) -> None:
        """Count a call of a chat model."""
        if event == "model_answered":
            with self._counting:
                self.calls += 1
                self.sent += int(values["sent"])
                self.received += int(values["received"])

    def numbers(self) -> dict[str, int]:
        """Return the counts by their names in runs."""
        return {"model calls": self.calls, "tokens sent": self.sent, "tokens received": self.received}


_listeners: tuple[Listener, ...] = ()


def listen(listener: Listener) -> Callable[[], None]:
    """Let a listener hear everything in this process; return the function that ends it."""
    global _listeners
    _listeners = (*_listeners, listener)

    def stop() -> None:
        global _listeners
        _listeners = tuple(one for one in _listeners if one is not listener)

    return stop


@contextmanager
def spending() -> Iterator[Spending]:
    """Count the calls and tokens of chat models that this process spends in the block."""
    spent = Spending()
    stop = listen(spent)
    try:
        yield spent
    finally:
        stop()


def is_heard() -> bool:
    """Return whether anybody listens."""
    return bool(_listeners)


class span:  # noqa: N801 - used like a function
    """A block with a name, which may hold others. A context manager.

    Args:
        name: One of a closed set, such as ``search.rank``.
        parent: The ``traceparent`` of the caller, if another service called.
        attributes: Described beside it in a trace: closed vocabularies, counts and names of models.
    """

    __slots__ = ("_begun", "_name", "_parent", "_started", "attributes")

    def __init__(self, name: str, parent: str | None = None, **attributes: Attribute) -> None:
        self._name = name
        self._parent = parent
        self.attributes = attributes

    def __enter__(self) -> Self:
        self._begun = [(listener, listener.begin(self._name, self._parent)) for listener in _listeners]
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started
        for listener, begun in reversed(self._begun):
            listener.end(self._name, begun, seconds, self.attributes, kind)


def measured(name: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that makes every call of a function a ``span``."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def call(*positional: Arguments.args, **named: Arguments.kwargs) -> Result:
            if not _listeners:
                return function(*positional, **named)
            with span(name):
                return function(*positional, **named)

        return call

    return decorate


def done(name: str, started: float, **attributes: Attribute) -> None:
    """Report a block that held no other and began at ``time.perf_counter()`` = ``started``."""
    seconds = time.perf_counter() - started
    for listener in _listeners:
        listener.done(name, seconds, attributes)


def report(event: str, **values: float) -> None:
    """Report the numbers of an event."""
    for listener in _listeners:
        listener.report(event, values)


def carried(function: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return the function for other threads, in which its spans belong to the span of this call."""
    if not _listeners:
        return function
    context = copy_context()
    return lambda item: context.copy().run(function, item)
