"""When the next request to a service may go out, for all threads at once.

Belongs here: the limits of the settings, what a service's answers say about its own, and waiting for one's turn. Not
here: which faults are tried again, and how often (``provider_retries``).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from neurigraph_pipelines.errors import TransientError

LONGEST_PAUSE_SECONDS = 3_600.0
"""After which a service is asked again, however long it asked to be left alone: the header may be nonsense."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Pace:
    """Lets requests go one after the other, no faster than their service takes them.

    What a request uses up of a limit a minute is waited for by the one behind it (a leaky bucket), so there are no
    bursts, and a request that is larger than a minute's tokens still goes. A service that asked to be left alone is
    left alone by every thread until then.

    Args:
        service: Its name in messages.
        requests_per_minute: None for no limit of ours.
        tokens_per_minute: None for no limit of ours.
    """

    def __init__(
        self, service: str, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._service = service
        self._seconds_a_request = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_a_token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._next_turn = 0.0
        self._left_alone_until = 0.0

    def take_turn(self, tokens: int, patience: float) -> None:
        """Wait until a request of about so many tokens may go out.

        Raises:
            TransientError: The service asked to be left alone for longer than ``patience`` seconds.
        """
        with self._lock:
            turn = max(self._next_turn, time.monotonic())
            self._next_turn = turn + max(self._seconds_a_request, tokens * self._seconds_a_token)
        # Whoever waits looks again: meanwhile the service may have asked for more time.
        while (wait := max(turn, self._left_alone_until) - (now := time.monotonic())) > 0:
            asked = self._left_alone_until - now
            if asked > patience:
                raise TransientError(f"{self._service} asked to be left alone for {asked:.0f} s.", retry_after=asked)
            time.sleep(wait)

    def heed(self, status: int, headers: Mapping[str, str]) -> None:
        """Leave the service alone for as long as an answer asks for."""
        seconds = asked_wait(headers) if status >= 400 else _until_renewed(headers)
        if seconds:
            until = time.monotonic() + min(seconds, LONGEST_PAUSE_SECONDS)
            with self._lock:
                self._left_alone_until = max(self._left_alone_until, until)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an error asks to wait; None where it does not say.

    ``retry-after-ms``, then Retry-After as seconds or as a date (RFC 9110, 10.2.3), then whichever of OpenAI's limits
    is used up and renewed last.
    """
    seconds = _number(headers.get("retry-after-ms"), 1_000.0)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is None and "retry-after" in headers:
        with suppress(ValueError):
            seconds = max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    return seconds if seconds is not None else _until_renewed(headers)


def _until_renewed(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit that is used up is renewed, by ``x-ratelimit-remaining-*`` and ``x-ratelimit-reset-*``."""
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
    """A header's number; None when it is none, or not finite."""
    try:
        value = float(header or "") / divisor
    except ValueError:
        return None
    return max(0.0, value) if value < float("inf") else None
