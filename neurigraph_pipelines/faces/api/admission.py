"""Middleware that limits requests per minute of one key, and concurrent requests of all keys.

``body_limit`` limits the size and duration of request bodies, ``server`` the number of connections.
"""

from __future__ import annotations

import hashlib
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from neurigraph_pipelines.faces.api.problems import problem, retry_after

LIVENESS = "/healthz"
"""The path of the liveness probe. It must not wait or fail because the process is busy."""

_MINUTE = 60.0
_CALLERS_BEFORE_CLEANUP = 10_000


class RequestRate:
    """A token bucket per caller that holds the requests of one minute and refills evenly.

    Each bucket is stored as one number, the time at which it is full again: the virtual scheduling algorithm of ITU-T
    I.371, Annex A. Full buckets are dropped.

    Args:
        requests_per_minute: The rate, and the largest burst after a pause.
    """

    def __init__(self, requests_per_minute: float) -> None:
        self._seconds_a_request = _MINUTE / requests_per_minute
        self._full_at: dict[bytes, float] = {}
        self._cleanup_at = _CALLERS_BEFORE_CLEANUP

    def wait_seconds(self, caller: bytes, now: float) -> float:
        """Take one request from a caller's bucket. Return 0, or the seconds to wait if the bucket is empty.

        Args:
            now: Seconds of a monotonic clock.
        """
        full_at = max(self._full_at.get(caller, now), now) + self._seconds_a_request
        if full_at - now > _MINUTE + 1e-9:  # tolerance for rounding in the sum of a minute's requests
            return full_at - now - _MINUTE
        self._full_at[caller] = full_at
        if len(self._full_at) > self._cleanup_at:
            self._full_at = {known: time for known, time in self._full_at.items() if time > now}
            self._cleanup_at = max(_CALLERS_BEFORE_CLEANUP, 2 * len(self._full_at))
        return 0.0


class Admission:
    """ASGI middleware that answers 429 if a key sends too many requests, and 503 if too many requests are running.

    It answers before the body is read or the key is looked up. Callers without a key are counted by their address.
    """

    def __init__(self, app: ASGIApp, requests_per_minute: float, concurrent_requests: int) -> None:
        self._app = app
        self._rate = RequestRate(requests_per_minute)
        self._free = concurrent_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it with ``Retry-After``."""
        if scope["type"] != "http" or scope["path"] == LIVENESS:
            await self._app(scope, receive, send)
            return
        if wait := self._rate.wait_seconds(_caller(scope), time.monotonic()):
            refusal = problem(429, "too many requests with this key: wait and try again", headers=retry_after(wait))
            await refusal(scope, receive, send)
            return
        if self._free <= 0:
            refusal = problem(
                503, "the service is handling too many requests: try again in a moment", headers=retry_after(1.0)
            )
            await refusal(scope, receive, send)
            return
        self._free -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._free += 1


def _caller(scope: Scope) -> bytes:
    """Return a hash of the caller's credentials or address, so that no key stays in memory and all have one size."""
    credentials = Headers(scope=scope).get("authorization")
    named = credentials if credentials is not None else (scope.get("client") or ("",))[0]
    return hashlib.blake2b(named.encode("latin-1"), digest_size=16).digest()
