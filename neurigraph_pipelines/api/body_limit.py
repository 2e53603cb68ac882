"""Refuses request bodies that are too long or take too long, before they are in memory.

How long a message or a title may be is the domain's affair.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.api.problems import problem, retry_after

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Longest request body: the longest message by default, with every character escaped, and room for others."""

BODIES_TOGETHER = 8
"""Bodies of the greatest length that may be in memory at one time."""

SLOWEST_BYTES_PER_SECOND = 500
"""A body that keeps this rate is waited for, however long: the default of Apache's ``RequestReadTimeout``."""

_CLOSE = {"Connection": "close"}  # what was not read cannot be told from a next request


class BodyLimit:
    """ASGI middleware. A declared length is refused at once, a chunked body as soon as it has grown too long.

    Args:
        limit: Most bytes of a body. All that are being read may have ``BODIES_TOGETHER`` times as many.
        larger: Other limits, by method and path, of bodies that are not kept in memory.
        patience: Seconds that a body may take besides those that its length gives it.
    """

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[tuple[str, str], int], patience: float) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger
        self._patience = patience
        self._room = BODIES_TOGETHER * limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its body counted while it is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._larger.get((scope["method"], scope["path"]))
        in_memory = limit is None
        limit = limit or self._limit
        detail = f"the request body has more than {limit:,} bytes: send it in parts"
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            await problem(413, detail, headers=_CLOSE)(scope, receive, send)
            return
        received = 0
        held = 0
        complete = False
        started = time.monotonic()

        async def receive_within_limit() -> Message:
            nonlocal received, held, complete
            if complete:  # what comes now is only the end of the connection, which may be hours away
                return await receive()
            due = started + self._patience + received / SLOWEST_BYTES_PER_SECOND
            try:
                message = await asyncio.wait_for(receive(), due - time.monotonic())
            except TimeoutError as error:
                raise HTTPException(408, "the request body came too slowly", headers=_CLOSE) from error
            size = len(message.get("body", b""))
            received += size
            complete = not message.get("more_body", False)
            if received > limit:
                raise HTTPException(413, detail, headers=_CLOSE)
            if in_memory:
                if size > self._room:
                    raise HTTPException(503, "too much is being sent at this moment", headers=_CLOSE | retry_after(1.0))
                held += size
                self._room -= size
            return message

        try:
            await self._app(scope, receive_within_limit, send)
        finally:
            self._room += held
