"""Cancelling a call over HTTP: its client closes the request, or sends a notification as the versions of 2025 do.

A notification names a request by a number that is unique for one client only. So the answer to a handshake carries a
session id, which these clients send with everything. It means nothing else: no session is kept, and every id is
accepted. A notification that reaches another process than its call is not heard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.text.exact_json import keep_exactly

SESSION = "mcp-session-id"

_REQUEST_CANCELLED = -32800
_INITIALIZE, _CANCELLED = "initialize", "notifications/cancelled"

_Name = tuple[str, str, str]


class Cancelling:
    """Runs an application for each request, until its client closes it or cancels the call.

    Args:
        app: Answers requests whose key was checked.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: dict[_Name, _Request] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = _Request(scope, receive, send)
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, request, tasks.cancel_scope)
            try:
                await self._app(scope, request.receive, request.send)
            except Exception as error:  # a task group would put it into a group, which nobody handles
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if request.is_cancelled and not request.has_answered:
            cancelled = {"code": _REQUEST_CANCELLED, "message": "Request cancelled"}
            await JSONResponse({"jsonrpc": "2.0", "id": request.id, "error": cancelled})(scope, receive, send)

    async def _watch(self, request: _Request, cancel: anyio.CancelScope) -> None:
        await request.has_body.wait()
        name = request.names_call()
        if name is not None and request.method == _CANCELLED and name in self._running:
            self._running[name].cancel()
        with self._registered(name, request):
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(request.wait_until_closed)
                await request.ended.wait()
                waiting.cancel_scope.cancel()
        cancel.cancel()

    @contextmanager
    def _registered(self, name: _Name | None, request: _Request) -> Iterator[None]:
        """Let notifications find a call while it runs; of two with one name, the first."""
        if name is None or request.method == _CANCELLED or name in self._running:
            yield
            return
        self._running[name] = request
        try:
            yield
        finally:
            del self._running[name]


class _Request:
    """One request: its parts read and answered so far."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._headers = Headers(scope=scope)
        self._receive = receive
        self._send = send
        self._body = bytearray()
        self._called: dict[str, object] = {}
        self.has_body = anyio.Event()
        self.ended = anyio.Event()
        self.is_cancelled = False
        self.has_answered = False

    @property
    def method(self) -> Any:
        """The method that it calls."""
        return self._called.get("method")

    @property
    def id(self) -> Any:
        """The number that its client gave it."""
        return self._called.get("id")

    async def receive(self) -> Message:
        """Receive the request for the application, its body in one part and without anything that a parser changes."""
        message = await self._receive()
        if self.has_body.is_set():
            return message
        self._body += message.get("body", b"")
        while message.get("more_body", False):
            message = await self._receive()
            self._body += message.get("body", b"")
        body = keep_exactly(bytes(self._body))
        self._called = _parsed(body)
        self._body.clear()
        self.has_body.set()
        return {**message, "body": body} if message["type"] == "http.request" else message

    async def send(self, message: Message) -> None:
        """Send a part of the answer; that to a handshake gets a session id."""
        if message["type"] == "http.response.start":
            self.has_answered = True
            if self.method == _INITIALIZE and message["status"] == 200:
                MutableHeaders(raw=message["headers"])[SESSION] = uuid4().hex
        await self._send(message)

    def names_call(self) -> _Name | None:
        """Return the key of the call that the request makes or cancels; None without a session id."""
        session = self._headers.get(SESSION)
        given = self._called.get("params") if self.method == _CANCELLED else {"requestId": self.id}
        number = given.get("requestId") if isinstance(given, dict) else None
        if session is None or not isinstance(number, int | str):
            return None
        return self._headers.get("authorization", ""), session, json.dumps(number)

    def cancel(self) -> None:
        """Cancel the call."""
        self.is_cancelled = True
        self.ended.set()

    async def wait_until_closed(self) -> None:
        """Wait until the client closes the request, which cancels the call without an answer."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.ended.set()


def _parsed(body: bytes) -> dict[str, object]:
    """Return the method, id and parameters of a message; None for each missing part."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
