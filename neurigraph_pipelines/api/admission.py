"""Who is let in: so many requests a minute of one key, so many at a time of all.

How long a body may be and how long it may take is for ``body_limit``; connections are for ``server``.
"""

from __future__ import annotations

import hashlib
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from neurigraph_pipelines.api.problems import problem, retry_after

_ALWAYS_ADMITTED = "/healthz"  # whoever asks whether the process lives must not be told that it is busy
_MINUTE = 60.0
_REMEMBERED = 10_000  # callers whose minute may be over before we look


class RequestRate:
    """A token bucket for each caller, which holds a minute's requests and fills evenly.

    Kept as one number a caller, the time at which the bucket is full again: the virtual scheduling of ITU-T I.371,
    Annex A. A caller whose bucket is full is forgotten.

    Args:
        requests_per_minute: Also how many may come at once after a pause.
    """

    def __init__(self, requests_per_minute: float) -> None:
        self._seconds_a_request = _MINUTE / requests_per_minute
        self._full_at: dict[bytes, float] = {}
        self._crowded = _REMEMBERED

    def wait_of(self, caller: bytes, now: float) -> float:
        """Take a request out of a caller's bucket; seconds to wait where there is none in it, else 0.

        Args:
            now: Seconds of a clock that does not run backwards.
        """
        full_at = max(self._full_at.get(caller, now), now) + self._seconds_a_request
        if full_at - now > _MINUTE + 1e-9:  # the sum of a minute's requests is a minute but for rounding
            return full_at - now - _MINUTE
        self._full_at[caller] = full_at
        if len(self._full_at) > self._crowded:
            self._full_at = {known: time for known, time in self._full_at.items() if time > now}
            self._crowded = max(_REMEMBERED, 2 * len(self._full_at))
        return 0.0


class Admission:
    """ASGI middleware: 429 for a key that asks too often, 503 when too many requests are under way.

    Both are known before anything is read or looked up. Without a key, callers are told apart by their address.
    """

    def __init__(self, app: ASGIApp, requests_per_minute: float, concurrent_requests: int) -> None:
        self._app = app
        self._rate = RequestRate(requests_per_minute)
        self._room = concurrent_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say when to come back."""
        if scope["type"] != "http" or scope["path"] == _ALWAYS_ADMITTED:
            await self._app(scope, receive, send)
            return
        if wait := self._rate.wait_of(_caller(scope), time.monotonic()):
            refusal = problem(429, "too many requests with this key", headers=retry_after(wait))
            await refusal(scope, receive, send)
            return
        if self._room <= 0:
            refusal = problem(503, "too many requests at this moment", headers=retry_after(1.0))
            await refusal(scope, receive, send)
            return
        self._room -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._room += 1


def _caller(scope: Scope) -> bytes:
    """Hashed, so that no key lies about in memory and a long one takes no more room than another."""
    credentials = Headers(scope=scope).get("authorization")
    named = credentials if credentials is not None else (scope.get("client") or ("",))[0]
    return hashlib.blake2b(named.encode("latin-1"), digest_size=16).digest()
