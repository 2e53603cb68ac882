"""`Idempotency-Key`: a request that is repeated with the same key has its effect once, and gets the same answer.

This middleware finds the answer to a repeated request, and keeps the answers of operations that may be repeated anyway.
Operations that would have their effect twice keep the answer in the transaction of the effect, through a guard.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Annotated

from fastapi import Depends, Request
from psycopg import Error, OperationalError
from pydantic.config import JsonDict
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.access.idempotency import MAX_ANSWER_BYTES, MAX_KEY_LENGTH, Kept, KeyedGuard, KeyedRequest
from neurigraph_pipelines.faces.api.authentication import GUARDED
from neurigraph_pipelines.faces.api.problems import problem, problem_of, retry_after
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.wiring.installation import Installation

HEADER = "Idempotency-Key"

_NAME = HEADER.lower().encode()
_KEY = re.compile(rb"[\x21-\x7e]{1,%d}" % MAX_KEY_LENGTH)
CHANGES_NOTHING = "it changes nothing"
_CHANGING = frozenset({"POST", "PATCH", "DELETE"})
_WITHOUT: dict[str, str] = {
    r"/v1/(search|ask|context|duplicates|facts/query|quarantines/preview|files/[^/]+/open|mirror/.*)": CHANGES_NOTHING,
    r"/v1/(users|(keys|webhooks)(/[^/]+/rotate)?|organizations(/[^/]+/(keys|invitations))?|invitations/accept)": (
        "its answer holds a secret, which is never stored"
    ),
    r"/v1/sign-in": "its answer holds a key, which is never stored",
    r"/v1/files": "the same bytes are one upload anyway",
    r"/v3/search": CHANGES_NOTHING,
    r"/v3/documents": "the same content is one document anyway",
    r"/chat/v2": "its answer is a stream: give the message an id instead",
}
"""Paths of operations that take no key, with the reason."""

_REPLAYED = {"Idempotency-Replayed": "true"}
_log = logging.getLogger("neurigraph.api")


def why_not(method: str, path: str) -> str | None:
    """Return why an operation takes no key; None if it does."""
    if method not in _CHANGING:
        return CHANGES_NOTHING
    return next((reason for pattern, reason in _WITHOUT.items() if re.fullmatch(pattern, path)), None)


def parameter() -> JsonDict:
    """Return the header as a parameter of an operation, for the OpenAPI document."""
    description = (
        "A word of the caller's choice, different for each request. A request that is repeated with it has its effect "
        "once, and gets the first answer again."
    )
    schema: JsonDict = {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[!-~]+$"}
    return {"name": HEADER, "in": "header", "required": False, "description": description, "schema": schema}


class Idempotency:
    """ASGI middleware; it works after authentication and inside the limits of bodies."""

    def __init__(self, app: ASGIApp, installation: Installation) -> None:
        self._app = app
        self._installation = installation
        self._running: set[tuple[object, ...]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it as before."""
        keys = [value for name, value in scope.get("headers", ()) if name == _NAME]
        if scope["type"] != "http" or not keys or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        if reason := why_not(scope["method"], scope["path"]):
            await problem(422, f"this operation takes no {HEADER}: {reason}")(scope, receive, send)
            return
        if len(keys) > 1 or _KEY.fullmatch(keys[0]) is None:
            detail = f"{HEADER} is one header with 1 to {MAX_KEY_LENGTH} visible ASCII characters"
            await problem(422, detail)(scope, receive, send)
            return
        try:
            body = await _read(receive)
        except HTTPException as error:  # from the limits of bodies
            await problem(error.status_code, error.detail, headers=error.headers)(scope, receive, send)
            return
        seconds = self._installation.settings.api.idempotency_hours * 3600
        parts = (scope["method"].encode(), scope["path"].encode(), scope["query_string"], body)
        request = b"".join(b"%d:%b" % (len(part), part) for part in parts)
        keyed = KeyedRequest(scope["state"]["caller"], keys[0].decode(), request, scope["path"], seconds)
        if keyed.identity in self._running:
            await _is_running()(scope, receive, send)
            return
        self._running.add(keyed.identity)
        try:
            await (await self._answer(keyed, scope, body))(scope, receive, send)
        finally:
            self._running.discard(keyed.identity)

    async def _answer(self, keyed: KeyedRequest, scope: Scope, body: bytes) -> ASGIApp:
        """Return the answer to a request, kept or new."""
        try:
            kept = await run_in_threadpool(keyed.find, self._installation.database)
        except (NeurigraphError, OperationalError) as error:
            return problem_of(error)
        if kept is not None and kept.fingerprint != keyed.fingerprint:
            return problem(422, f"this {HEADER} was used for another request: choose a new one for each request")
        if kept is not None and (kept.answer is not None or kept.status == 204):
            return _repeated(kept)
        scope["state"]["keyed"] = keyed
        scope["state"]["is_repeated"] = kept is not None
        new = _Answer()
        await self._app(scope, _receive(body), new.send)
        if kept is not None:
            new.add_header(_REPLAYED)
        elif 200 <= new.status < 300 and not keyed.is_settled:
            await run_in_threadpool(self._keep, keyed, new)
        return new

    def _keep(self, keyed: KeyedRequest, new: _Answer) -> None:
        """Keep the answer of an operation whose repetition changes nothing: if this fails, it may be repeated."""
        if len(new.body) > MAX_ANSWER_BYTES:
            return
        try:
            with self._installation.database.agent(keyed.claims) as tx:
                keyed.keep(tx, new.status, json.loads(new.body) if new.body else None)
        except (NeurigraphError, Error) as error:
            _log.warning("an answer was not kept (%s)", type(error).__name__)


class _Answer:
    """An answer that is collected before it is sent."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self._messages: list[Message] = []

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        self._messages.append(message)
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")

    def add_header(self, headers: dict[str, str]) -> None:
        """Add headers."""
        self._messages[0]["headers"] += [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        """Send it."""
        for message in self._messages:
            await send(message)


def _repeated(kept: Kept) -> Response:
    if kept.status == 204:
        return Response(status_code=204, headers=_REPLAYED)
    return Response(json.dumps(kept.answer), kept.status, _REPLAYED, media_type="application/json")


def _is_running() -> Response:
    detail = f"a request with this {HEADER} is running: repeat it in a moment"
    return problem(409, detail, headers=retry_after(1.0))


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body", False):
            return body


def _receive(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def keyed_guard(request: Request, inner: Guard = FREE) -> Guard:
    """Return a guard that also keeps the answer to a request, if it has a key."""
    keyed: KeyedRequest | None = getattr(request.state, "keyed", None)
    if keyed is None:
        return inner
    return KeyedGuard(keyed, request.scope["route"].status_code or 200, inner)


async def _once(request: Request) -> Guard:
    return keyed_guard(request)


Once = Annotated[Guard, Depends(_once)]
"""The guard of an operation that would have its effect twice."""


async def _is_repeated(request: Request) -> bool:
    return bool(getattr(request.state, "is_repeated", False))


IsRepeated = Annotated[bool, Depends(_is_repeated)]
"""Whether the request was answered before: its effect is there, and only the object is to be read."""
