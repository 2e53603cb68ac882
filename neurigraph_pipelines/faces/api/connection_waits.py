"""Bounds the time for which a request waits for connections of the database."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from neurigraph_pipelines.database.waits import bounded_waits


class ConnectionWaits:
    """ASGI middleware: all waits of a request together have the bound of one.

    Args:
        seconds: The bound.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with bounded_waits(self._seconds):
            await self._app(scope, receive, send)
