"""Middleware that rejects request bodies that are too long or arrive too slowly, before they are in memory.

The domain limits the lengths of messages and titles.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.problems import problem, retry_after

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Longest request body: the longest message by default, with every character escaped, and some reserve."""

BODIES_TOGETHER = 8
"""Number of bodies of the greatest length that fit in memory at one time."""

SLOWEST_BYTES_PER_SECOND = 500
"""Slowest accepted rate of a body, the default of Apache's ``RequestReadTimeout``."""

_CLOSE = {"Connection": "close"}  # the unread rest of the body would be taken for the next request


class BodyLimit:
    """ASGI middleware that rejects a too long declared length at once, and a chunked body once it grows too long.

    Args:
        limit: Most bytes of a body. All bodies being read together may have ``BODIES_TOGETHER`` times as many.
        larger: Other limits, by method and path, for bodies that are not held in memory.
        smaller: Other limits, by method and path, for bodies that are read before anybody is authenticated.
        patience: Seconds that a body may take in addition to its length at ``SLOWEST_BYTES_PER_SECOND``.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        larger: Mapping[tuple[str, str], int],
        smaller: Mapping[tuple[str, str], int],
        patience: float,
    ) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger
        self._smaller = smaller
        self._patience = patience
        self._free_bytes = BODIES_TOGETHER * limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its body while it is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        operation = (scope["method"], scope["path"])
        in_memory = operation not in self._larger
        limit = self._smaller.get(operation, self._limit) if in_memory else self._larger[operation]
        detail = f"the request body has more than {limit:,} bytes: send it in parts"
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            await problem(413, detail, headers=_CLOSE)(scope, receive, send)
            return
        received = 0
        in_use = 0
        complete = False
        started = time.monotonic()

        async def receive_within_limit() -> Message:
            nonlocal received, in_use, complete
            if complete:  # only the end of the connection can follow, which may be hours away
                return await receive()
            due = started + self._patience + received / SLOWEST_BYTES_PER_SECOND
            try:
                message = await asyncio.wait_for(receive(), due - time.monotonic())
            except TimeoutError as error:
                raise HTTPException(408, "the request body arrived too slowly", headers=_CLOSE) from error
            size = len(message.get("body", b""))
            received += size
            complete = not message.get("more_body", False)
            if received > limit:
                raise HTTPException(413, detail, headers=_CLOSE)
            if in_memory:
                if size > self._free_bytes:
                    headers = _CLOSE | retry_after(1.0)
                    raise HTTPException(503, "the service is receiving too much data: try again", headers=headers)
                in_use += size
                self._free_bytes -= size
            return message

        try:
            await self._app(scope, receive_within_limit, send)
        finally:
            self._free_bytes += in_use
