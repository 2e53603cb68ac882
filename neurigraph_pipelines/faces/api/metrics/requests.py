"""Middleware that measures every request by its route template: for metrics, traces and the structured log.

Neither the address of a request nor the caller's is shown: both may name a user, a word or an id.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.metrics.process import METHODS, OTHER_METHOD, UNMATCHED, ProcessMeasures
from neurigraph_pipelines.model.measuring import Attribute, span

_FAILED = 500
_log = logging.getLogger("neurigraph.requests")


class RequestMeasures:
    """ASGI middleware around all others, so that it also sees the requests that they refuse."""

    def __init__(self, app: ASGIApp, measures: ProcessMeasures) -> None:
        self._app = app
        self._measures = measures
        self._templates: dict[Callable[..., Any], str] = {}
        self._plain: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and measure it until its answer is sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started, seconds = _FAILED, time.perf_counter(), None

        async def send_and_note(message: Message) -> None:
            nonlocal status, seconds
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                seconds = time.perf_counter() - started  # background tasks follow, for which nobody waits

        self._measures.in_progress.inc()
        with span("http.request", Headers(scope=scope).get("traceparent")) as request:
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                self._measures.in_progress.dec()
                request.attributes = self._note(scope, status, seconds or time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> dict[str, Attribute]:
        """Count and log a request, and return its labels."""
        method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
        route = self._route_of(scope)
        self._measures.answered(method, route, status, seconds)
        if _log.isEnabledFor(logging.INFO):
            milliseconds = round(seconds * 1_000, 3)
            described = {"method": method, "route": route, "status": status, "milliseconds": milliseconds}
            _log.info("request", extra=described)
        return {"http.request.method": method, "http.route": route, "http.response.status_code": status}

    def _route_of(self, scope: Scope) -> str:
        """Return the template of the operation that took a request."""
        if not self._templates:
            routes = list(iter_route_contexts(scope["app"].routes))
            self._templates = {route.endpoint: route.path for route in routes if route.endpoint and route.path}
            self._plain = frozenset(route.path for route in routes if route.path and "{" not in route.path)
        endpoint, path = scope.get("endpoint"), scope["path"].rstrip("/")
        plain = path if path in self._plain else UNMATCHED  # such as one that was refused before it was routed
        return self._templates.get(endpoint, plain) if endpoint is not None else plain
