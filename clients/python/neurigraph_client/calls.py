"""How calls are made: a method says in steps what it asks; a sender takes the steps, waiting or under asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce, wraps
from importlib import import_module
from inspect import signature
from itertools import count
from operator import or_
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import httpx
from pydantic import TypeAdapter

from neurigraph_client.transport import Call, pause, refuse
from neurigraph_pipelines.views.base import View

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W")
Steps = Generator[Call, httpx.Response, R]
"""What a method asks, and what it makes of the answers."""

NOT_GIVEN: Any = object()
"""The default of what may be left out; None is a value of its own."""

_VIEWS = "neurigraph_pipelines.views"


@dataclass(frozen=True)
class Pages(Generic[R]):
    """A list that comes page after page.

    Attributes:
        call: Asks for the first page.
        name: The field of a page with the items.
        view: The name of an item's view.
    """

    call: Call
    name: str
    view: str

    def read(self, page: Any) -> list[R]:
        """Return the items of a page."""
        return [_adapter(self.view).validate_python(one) for one in page[self.name]]

    def after(self, page: Any) -> Call | None:
        """Return what asks for the next page; None after the last one."""
        cursor = page["next_cursor"]
        return None if cursor is None else self.call.asking(cursor=cursor)


class Waiting:
    """Sends calls and waits for the answers."""

    def __init__(self, settings: Mapping[str, Any], retries: int) -> None:
        """Open the client with the arguments of ``httpx``."""
        self.http = httpx.Client(**settings)
        self._retries = retries

    def take(self, steps: Steps[R]) -> R:
        """Take the steps, and return what they come to."""
        try:
            step = next(steps)
            while True:
                step = steps.send(self.send(step))
        except StopIteration as done:
            result: R = done.value
            return result

    def items(self, pages: Pages[R]) -> Iterator[R]:
        """Yield the items of a list."""
        call: Call | None = pages.call
        while call is not None:
            page = self.send(call).json()
            yield from pages.read(page)
            call = pages.after(page)

    def send(self, call: Call) -> httpx.Response:
        """Return the answer to a call, which is repeated after temporary faults."""
        for attempt in count():
            try:
                with call.request() as request:
                    answer = self.http.send(self.http.build_request(**request), stream=call.is_streamed)
                if call.is_streamed and answer.status_code != 200:
                    answer.read()
                    answer.close()
                return refuse(call, answer)
            except Exception as error:  # `pause` raises what no repeating mends
                time.sleep(pause(call, error, attempt, self._retries))
        raise AssertionError


class Asyncio:
    """Sends calls under asyncio."""

    def __init__(self, settings: Mapping[str, Any], retries: int) -> None:
        """Open the client with the arguments of ``httpx``."""
        self.http = httpx.AsyncClient(**settings)
        self._retries = retries

    async def take(self, steps: Steps[R]) -> R:
        """Take the steps, and return what they come to."""
        try:
            step = next(steps)
            while True:
                step = steps.send(await self.send(step))
        except StopIteration as done:
            result: R = done.value
            return result

    async def items(self, pages: Pages[R]) -> AsyncIterator[R]:
        """Yield the items of a list."""
        call: Call | None = pages.call
        while call is not None:
            page = (await self.send(call)).json()
            for one in pages.read(page):
                yield one
            call = pages.after(page)

    async def send(self, call: Call) -> httpx.Response:
        """Return the answer to a call, which is repeated after temporary faults."""
        for attempt in count():
            try:
                with call.request() as request:
                    answer = await self.http.send(self.http.build_request(**request), stream=call.is_streamed)
                if call.is_streamed and answer.status_code != 200:
                    await answer.aread()
                    await answer.aclose()
                return refuse(call, answer)
            except Exception as error:  # `pause` raises what no repeating mends
                await asyncio.sleep(pause(call, error, attempt, self._retries))
        raise AssertionError


@dataclass(frozen=True)
class Group(Generic[W]):
    """Methods that call through one sender: ``Waiting`` or ``Asyncio``."""

    _sender: W = field(repr=False)


class asked(Generic[P, R]):  # noqa: N801 - a decorator
    """A method that asks: it returns its result, or under asyncio what is awaited for it."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[R]]) -> None:
        """Take the steps of the method."""
        self._steps = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, group: Group[Waiting], kind: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, group: Group[Asyncio], kind: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        """Return the method of an object."""
        if group is None:
            return self._steps

        @wraps(self._steps)
        def method(*values: P.args, **named: P.kwargs) -> Any:
            return group._sender.take(self._steps(group, *values, **named))

        return method


class listed(Generic[P, R]):  # noqa: N801 - a decorator
    """A method that lists: it returns an iterator over all pages."""

    def __init__(self, pages: Callable[Concatenate[Any, P], Pages[R]]) -> None:
        """Take the function that returns the pages."""
        self._pages = pages
        self.__doc__ = pages.__doc__

    @overload
    def __get__(self, group: Group[Waiting], kind: type) -> Callable[P, Iterator[R]]: ...
    @overload
    def __get__(self, group: Group[Asyncio], kind: type) -> Callable[P, AsyncIterator[R]]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        """Return the method of an object."""
        if group is None:
            return self._pages

        @wraps(self._pages)
        def method(*values: P.args, **named: P.kwargs) -> Any:
            return group._sender.items(self._pages(group, *values, **named))

        return method


def answer(route: str, view: str, values: Mapping[str, Any], **about: Any) -> Steps[Any]:
    """Ask an operation, and read its answer as a view.

    Args:
        route: Method and path.
        view: Names of views, such as ``links.Link``; empty if there is no answer.
        values: What its method was given.
        about: As ``call_of`` takes it.
    """
    response = yield call_of(route, values, **about)
    return read(response, view)


def asks(route: str, view: str, **about: Any) -> Callable[[Callable[Concatenate[Any, P], Steps[R]]], asked[P, R]]:
    """Return a decorator that makes a method of its signature: it asks an operation, as ``answer`` does."""

    def made(declared: Callable[Concatenate[Any, P], Steps[R]]) -> asked[P, R]:
        return asked(
            wraps(declared)(lambda *given, **named: answer(route, view, _bound(declared, given, named), **about))
        )

    return made


def lists(route: str, name: str, view: str) -> Callable[[Callable[Concatenate[Any, P], Pages[R]]], listed[P, R]]:
    """Return a decorator that makes a method of its signature: it lists an operation's items, page after page.

    Args:
        name: The field of a page with the items.
        view: The name of an item's view.
    """

    def made(declared: Callable[Concatenate[Any, P], Pages[R]]) -> listed[P, R]:
        return listed(
            wraps(declared)(lambda *given, **named: Pages(call_of(route, _bound(declared, given, named)), name, view))
        )

    return made


def _bound(declared: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a call by name, with the defaults of the signature."""
    bound = signature(declared).bind(*given, **named)
    bound.apply_defaults()
    return bound.arguments


def call_of(
    route: str,
    values: Mapping[str, Any],
    *,
    body: bool = False,
    query: tuple[str, ...] = (),
    changes: bool = False,
    once: bool = False,
) -> Call:
    """Return a call of an operation.

    Args:
        route: Method and path.
        values: What its method was given, by name: parts of the path, ``etag``, parameters and fields.
        body: Whether the rest, but for ``query``, are fields of its body.
        query: Parameters beside a body.
        changes: Whether it may be repeated under a key.
        once: Whether it would happen twice if it was repeated.
    """
    method, path = route.split(" ")
    rest = {name: value for name, value in values.items() if name != "self" and value is not NOT_GIVEN}
    etag = rest.pop("etag", None)
    for name in list(rest):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", str(rest.pop(name)))
    asked_for = {name: rest.pop(name) for name in list(rest) if not body or name in query}
    headers = {} if etag is None else {"If-Match": etag}
    return Call(method, path, rest if body else None, asked_for, headers, is_change=changes, is_once=once)


def read(response: httpx.Response, view: str) -> Any:
    """Return an answer as a view, with its ETag."""
    if not view or not response.content:
        return None
    found = _adapter(view).validate_python(response.json())
    if isinstance(found, View):
        vars(found)["etag"] = response.headers.get("ETag")
    return found


def named(name: str) -> Any:
    """Return a view by its name, such as ``links.Link``."""
    module, _, kind = name.rpartition(".")
    return getattr(import_module(module if "." in module else f"{_VIEWS}.{module}"), kind)


@cache
def _adapter(view: str) -> TypeAdapter[Any]:
    return TypeAdapter(reduce(or_, map(named, view.split(" | "))))
