"""The id of a request: taken from its `X-Request-Id` or made, returned with the answer, and part of log lines.

``problems`` keeps it, and adds it to problem details.
"""

from __future__ import annotations

import logging
import re
import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.problems import REQUEST_ID, problem

HEADER = "X-Request-Id"
MAX_LENGTH = 128
"""Longest id that is accepted."""

_ACCEPTED = re.compile(rf"[A-Za-z0-9._~:/+=@-]{{1,{MAX_LENGTH}}}")
_REFUSED = f"{HEADER} is one header with 1 to {MAX_LENGTH} characters of `A-Z a-z 0-9 . _ ~ : / + = @ -`"
_NAME = HEADER.lower().encode()


def new_request_id() -> str:
    """Return a new id."""
    return secrets.token_hex(16)


class RequestIds:
    """ASGI middleware that gives every request an id, and every answer the header with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its id; answer 400 if the caller's id is not acceptable."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == _NAME]
        is_valid = not given or (len(given) == 1 and _ACCEPTED.fullmatch(given[0]) is not None)
        request_id = given[0] if given and is_valid else new_request_id()
        REQUEST_ID.set(request_id)  # for the task of this request, and the threads that work for it

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await (self._app if is_valid else problem(400, _REFUSED))(scope, receive, send_with_id)


class RequestIdFilter(logging.Filter):
    """Gives every log record the attribute ``request_id``: that of the request that logs, or a dash."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the attribute, and keep the record."""
        record.request_id = REQUEST_ID.get() or "-"
        return True
