"""Refuses request bodies that are too long, before they are in memory.

How long a message or a title may be is the domain's affair.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.api.problems import problem

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Longest request body: the longest message by default, with every character escaped, and room for others."""

_CLOSE = {"Connection": "close"}  # what was not read cannot be told from a next request


class BodyLimit:
    """ASGI middleware. A declared length is refused at once, a chunked body as soon as it has grown too long.

    Args:
        limit: Most bytes of a body.
        larger: Other limits, by method and path.
    """

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[tuple[str, str], int]) -> None:
        self._app = app
        self._limit = limit
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its body counted while it is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._larger.get((scope["method"], scope["path"]), self._limit)
        detail = f"the request body has more than {limit:,} bytes: send it in parts"
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            await problem(413, detail, headers=_CLOSE)(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, detail, headers=_CLOSE)
            return message

        await self._app(scope, receive_within_limit, send)
