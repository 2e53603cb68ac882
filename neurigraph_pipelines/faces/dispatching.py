"""One address for several databases: each request goes to the application of the database in which its user lives.

A key or token only says where to ask; the application there authenticates it, as if there were no other. ``databases``
finds users.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from urllib.parse import parse_qsl

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from psycopg import OperationalError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.admission import LIVENESS
from neurigraph_pipelines.faces.api.authentication import ADMINISTRATION, GUARDED, WITHOUT_KEY, credential_of
from neurigraph_pipelines.faces.api.idempotency import CHANGES_NOTHING, why_not
from neurigraph_pipelines.faces.api.problems import problem, problem_of, retry_after
from neurigraph_pipelines.faces.mcp.http import PATH as MCP
from neurigraph_pipelines.model.errors import NeurigraphError, NotFoundError, TransientError, UnauthenticatedError
from neurigraph_pipelines.wiring.databases import CACHE_SECONDS, Databases
from neurigraph_pipelines.wiring.directory import MAIN, Hint, Place, hint_of, lives_in, require_answers
from neurigraph_pipelines.wiring.installation import Installation

PATIENCE_SECONDS = 2.0
"""How long a database may take to answer before its users get 503 at once."""

_CACHED_PLACES = 10_000
_BETWEEN = "this memory is moving to another database: try again in a moment"
_DOWN = "the database of this memory does not answer: try again in a moment"
_ABOUT_USERS = ADMINISTRATION | WITHOUT_KEY
"""Operations without a user that need the first database."""

_CHOOSING = frozenset({"/metrics", "/readyz"})


class _Application:
    """One database: whether it answers, and its application, which is made on first use and runs in a task."""

    def __init__(self, name: str, databases: Databases, make: Callable[[Installation], FastAPI]) -> None:
        self._name = name
        self._databases = databases
        self._make = make
        self._answered_at = self._failed_at = float("-inf")
        self._thread = CapacityLimiter(1)  # its own: a database that is down holds no thread of the others
        self._asking: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._app: FastAPI | None = None
        self._stop = asyncio.Event()

    async def require_answers(self) -> None:
        """Require that the database answers, or answered just now.

        Raises:
            TransientError: It does not.
        """
        now = time.monotonic()
        if now - self._answered_at < CACHE_SECONDS:
            return
        if self._asking is None or self._asking.done():
            if now - self._failed_at < CACHE_SECONDS:
                raise TransientError(_DOWN, retry_after=PATIENCE_SECONDS)
            self._asking = asyncio.create_task(self._ask())
        await asyncio.wait({self._asking}, timeout=PATIENCE_SECONDS if self._failed_at <= self._answered_at else 0)
        if time.monotonic() - self._answered_at >= CACHE_SECONDS:
            self._failed_at = time.monotonic()
            raise TransientError(_DOWN, retry_after=PATIENCE_SECONDS)

    async def _ask(self) -> None:
        def ask() -> None:
            require_answers(self._databases.open(self._name).database)

        try:
            await to_thread.run_sync(ask, limiter=self._thread)
            self._answered_at = time.monotonic()
        except (NeurigraphError, OperationalError):
            self._failed_at = time.monotonic()

    async def app(self) -> ASGIApp:
        """Return the application, which runs."""
        if self._running is None:
            ready = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(ready))
            self._ready = ready
        await asyncio.shield(self._ready)
        assert self._app is not None
        return self._app

    async def _run(self, ready: asyncio.Future[None]) -> None:
        try:
            installation = await to_thread.run_sync(self._databases.open, self._name, limiter=self._thread)
            app = self._make(installation)
            async with app.router.lifespan_context(app):
                self._app = app
                ready.set_result(None)
                await self._stop.wait()
        except Exception as error:
            if ready.done():
                raise
            self._running = None  # the next request tries again
            ready.set_exception(error)

    async def stop(self) -> None:
        """End the application."""
        self._stop.set()
        tasks = [task for task in (self._running, self._asking) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)


class Dispatcher:
    """The ASGI application of one address.

    Args:
        front: The application of the first database, which also answers whatever needs no user.
        databases: The databases.
        make: Makes the application of another one.
    """

    def __init__(self, front: FastAPI, databases: Databases, make: Callable[[Installation], FastAPI]) -> None:
        self._front = front
        self._databases = databases
        self._make = make
        self._known: dict[str, _Application] = {}
        self._names: tuple[str, ...] = (MAIN,)
        self._names_at = float("-inf")
        self._knows_names = False
        self._reading: asyncio.Task[None] | None = None
        self._thread = CapacityLimiter(1)
        self._places: dict[Hint, tuple[Place | None, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or run as long as the server does."""
        if scope["type"] == "lifespan":
            await self._front(scope, receive, self._ending(send))
            return
        try:
            await self._answer(scope, receive, send)
        except (NeurigraphError, OperationalError) as error:
            await problem_of(error)(scope, receive, send)

    def _ending(self, send: Send) -> Send:
        async def ending(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                for application in self._known.values():
                    await application.stop()
            await send(message)

        return ending

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == LIVENESS or await self._is_alone():  # which may wait for a thread
            await self._front(scope, receive, send)
            return
        if scope["path"] in _CHOOSING:
            name, query = _chosen(scope["query_string"])
            if name not in self._names:
                raise NotFoundError
            await (await self._app(name))({**scope, "query_string": query}, receive, send)
            return
        hint = _hint(scope)
        if hint is None:
            if (scope["method"], scope["path"]) in _ABOUT_USERS:
                await self._application(MAIN).require_answers()
            await self._front(scope, receive, send)
            return
        place = await self._find(hint)
        name = MAIN if place is None else place.database
        if place is not None and place.moving_to is not None:
            now = await to_thread.run_sync(self._databases.database_of, place)
            if now is None:
                raise TransientError(_BETWEEN, retry_after=1.0)
            name = now
        app = await self._app(name)
        await app(scope, receive, _Checked(scope, send, lambda: self._has_left(hint, name)))

    async def _is_alone(self) -> bool:
        """Return whether there is one database only, as it was a second ago at most."""
        is_read = self._reading is None or self._reading.done()
        if is_read and time.monotonic() - self._names_at >= CACHE_SECONDS:
            self._names_at = time.monotonic()  # others go by the old names meanwhile
            reading = asyncio.create_task(self._read_names(), context=Context())  # not within the waits of this request
            self._reading = reading
            await asyncio.wait({reading}, timeout=PATIENCE_SECONDS if self._knows_names else None)
        return len(self._names) == 1

    async def _read_names(self) -> None:
        try:
            if len(self._names) > 1:
                await self._application(MAIN).require_answers()
            listed = await to_thread.run_sync(self._databases.directory.databases, limiter=self._thread)
            self._names = tuple(one.name for one in listed)
            self._knows_names = True
        except (NeurigraphError, OperationalError):
            pass  # the application says what is wrong

    async def _find(self, hint: Hint) -> Place | None:
        """Return where a user lives, as it was a second ago at most, or if the directory does not answer, as it was."""
        known = self._places.get(hint)
        if known is not None and time.monotonic() - known[1] < CACHE_SECONDS:
            return known[0]
        try:
            await self._application(MAIN).require_answers()
            place = await to_thread.run_sync(self._databases.directory.by_hint, hint)
        except (NeurigraphError, OperationalError):
            if known is None:
                raise
            return known[0]
        self._places.pop(hint, None)
        while len(self._places) >= _CACHED_PLACES:
            self._places.pop(next(iter(self._places)))
        self._places[hint] = place, time.monotonic()
        return place

    async def _has_left(self, hint: Hint, name: str) -> bool:
        """Return whether a user has left the database that has just answered, so that the answer may lack all."""
        place = await self._find(hint)
        if place is None or (place.moving_to is None and place.database == name):
            return False
        database = (await to_thread.run_sync(self._databases.open, name)).database
        return not await to_thread.run_sync(lives_in, database, place.resident_id)

    async def _app(self, name: str) -> ASGIApp:
        await self._application(name).require_answers()
        return self._front if name == MAIN else await self._application(name).app()

    def _application(self, name: str) -> _Application:
        return self._known.setdefault(name, _Application(name, self._databases, self._make))


class _Checked:
    """Sends an answer, unless the user has left the database meanwhile: then 503, so that the caller asks again.

    A change that was made stays answered as made: it has moved with the user.
    """

    def __init__(self, scope: Scope, send: Send, has_left: Callable[[], Awaitable[bool]]) -> None:
        self._scope = scope
        self._send = send
        self._has_left = has_left
        self._start: Message | None = None
        self._is_refused = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer. Its head waits for the first part of its body, which is there then."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            self._is_refused = not self._is_change(start["status"]) and await self._has_left()
            if self._is_refused:
                await problem(503, _BETWEEN, headers=retry_after(1.0))(self._scope, _no_body, self._send)
            else:
                await self._send(start)
        if not self._is_refused:
            await self._send(message)

    def _is_change(self, status: int) -> bool:
        method, path = self._scope["method"], self._scope["path"]
        return status < 400 and path != MCP and why_not(method, path) != CHANGES_NOTHING


def _hint(scope: Scope) -> Hint | None:
    """Return whom a request names; None if it needs no user, or has no usable credential."""
    path = scope["path"]
    if (not path.startswith(GUARDED) and path != MCP) or (scope["method"], path) in _ABOUT_USERS:
        return None
    try:
        credential = credential_of(Request(scope))
    except UnauthenticatedError:
        return None
    return hint_of(credential) if credential is not None else None


def _chosen(query: bytes) -> tuple[str, bytes]:
    """Return the database that a query string names, the first by default, and the rest of the query string."""
    names = [value for name, value in parse_qsl(query.decode("latin-1")) if name == "database"]
    rest = b"&".join(part for part in query.split(b"&") if not part.startswith(b"database="))
    return (names[0] if names else MAIN), rest


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
