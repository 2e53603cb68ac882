"""Rate limiting of requests to one service, shared by all threads.

Belongs here: the limits of the settings, the limits that a service reports, and waiting. Retries are in
``providers.retries``.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from neurigraph_pipelines.model.errors import TransientError

LONGEST_PAUSE_SECONDS = 3_600.0
"""Longest pause, even if a service asks for more: its header may be wrong."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Pace:
    """Sends requests one after the other, no faster than their service accepts them.

    Each request waits for the share of the per-minute limit that the previous one used (a leaky bucket), so there are
    no bursts, and a request larger than a minute's tokens is still sent. If the service asks for a pause, every thread
    waits.

    Args:
        service: Its name in messages.
        requests_per_minute: None for no limit.
        tokens_per_minute: None for no limit.
    """

    def __init__(
        self, service: str, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._service = service
        self._seconds_per_request = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._next_turn = 0.0
        self._paused_until = 0.0

    def wait_for_turn(self, tokens: int, patience: float) -> None:
        """Wait until a request of about ``tokens`` tokens may be sent.

        Raises:
            TransientError: The service asked for a pause of more than ``patience`` seconds.
        """
        with self._lock:
            turn = max(self._next_turn, time.monotonic())
            self._next_turn = turn + max(self._seconds_per_request, tokens * self._seconds_per_token)
        # Check again after waiting: the service may have asked for a longer pause in the meantime.
        while (wait := max(turn, self._paused_until) - (now := time.monotonic())) > 0:
            asked = self._paused_until - now
            if asked > patience:
                raise TransientError(f"{self._service} asked for a pause of {asked:.0f} s.", retry_after=asked)
            time.sleep(wait)

    def apply_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Pause for as long as an answer asks."""
        seconds = requested_wait(headers) if status >= 400 else _until_renewed(headers)
        if seconds:
            until = time.monotonic() + min(seconds, LONGEST_PAUSE_SECONDS)
            with self._lock:
                self._paused_until = max(self._paused_until, until)


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an error response asks to wait; None if it does not say.

    Uses ``retry-after-ms``, then Retry-After as seconds or as a date (RFC 9110, 10.2.3), then OpenAI's exhausted limit
    that is renewed last.
    """
    seconds = _number(headers.get("retry-after-ms"), 1_000.0)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is None and "retry-after" in headers:
        with suppress(ValueError):
            seconds = max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    return seconds if seconds is not None else _until_renewed(headers)


def _until_renewed(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until exhausted limits are renewed, by ``x-ratelimit-remaining-*`` and ``-reset-*``."""
    return max(
        (
            sum(
                float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(headers[f"x-ratelimit-reset-{of}"])
            )
            for of in ("requests", "tokens")
            if headers.get(f"x-ratelimit-remaining-{of}") == "0" and f"x-ratelimit-reset-{of}" in headers
        ),
        default=None,
    )


def _number(header: str | None, divisor: float) -> float | None:
    """Return a header's number divided by ``divisor``; None if it is no finite number."""
    try:
        value = float(header or "") / divisor
    except ValueError:
        return None
    return max(0.0, value) if value < float("inf") else None
