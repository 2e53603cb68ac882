"""Rate limits from a service's headers, kept over all threads."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest

from neurigraph_pipelines.model.errors import TransientError
from resources.providers.pace import LONGEST_PAUSE_SECONDS, Pace, requested_wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-requests": "12", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-remaining-requests": "0"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "🕐 later"}, 0.0),
        ({"retry-after": "1", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, 1.0),
    ],
)
def test_wait_requested_by_response(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_wait(headers) == (None if seconds is None else pytest.approx(seconds))


def test_date_header_becomes_seconds() -> None:
    wait = requested_wait({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert wait is not None
    assert 90 < wait <= 101


def test_nonsensical_wait_is_bounded() -> None:
    pace = Pace("Service")
    pace.apply_response(503, {"retry-after": "999999999999"})
    with pytest.raises(TransientError) as caught:
        pace.wait_for_turn(1, patience=10.0)
    assert caught.value.retry_after == pytest.approx(LONGEST_PAUSE_SECONDS, abs=1)


def turns(pace: Pace, tokens: list[int]) -> list[float]:
    """When each of some threads got its turn, in seconds from the start, in order."""
    start = time.monotonic()

    def take(size: int) -> float:
        pace.wait_for_turn(size, patience=10.0)
        return time.monotonic() - start

    with ThreadPoolExecutor(len(tokens)) as pool:
        return sorted(pool.map(take, tokens))


def test_requests_are_spaced_over_all_threads() -> None:
    taken = turns(Pace("Service", requests_per_minute=1_200), [0] * 8)
    assert all(at >= number * 0.05 for number, at in enumerate(taken))


def test_without_limits_nobody_waits() -> None:
    pace = Pace("Service")
    pace.apply_response(429, {})
    pace.apply_response(500, {})
    started = time.monotonic()
    for _ in range(2):
        pace.wait_for_turn(10**9, patience=0.0)
    assert time.monotonic() - started < 1
