"""Leases of work in the database: their renewal, and the delay before work is tried again."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from psycopg import OperationalError

from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.settings import Settings

MAX_RETRY_DELAY_SECONDS = 6 * 3600.0
_LONGEST_SECONDS = 25
_MAX_DOUBLINGS = 64  # far beyond the longest delay, and within the range of a float


@contextmanager
def renewed(lease_seconds: float, renewal: Callable[[], object]) -> Iterator[None]:
    """Call ``renewal`` in a thread while the block runs, three times in the seconds that a lease lasts."""
    done = threading.Event()

    def renew_until_done() -> None:
        while not done.wait(lease_seconds / 3):
            with suppress(NeurigraphError, OperationalError):  # the next renewal may succeed
                renewal()

    thread = threading.Thread(target=renew_until_done, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def work_lease(settings: Settings) -> int:
    """Return the seconds of a lease that its process renews by ``renewed``: if that dies, another goes on soon."""
    return min(settings.ingestion.claim_lease_seconds, _LONGEST_SECONDS)


def retry_delay(settings: Settings, attempts: int, retry_after: float | None = None) -> float:
    """Return the seconds until the next attempt: doubled each time, half of it random, at least ``retry_after``.

    Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 (the "equal jitter" variant).
    """
    doublings = min(max(attempts - 1, 0), _MAX_DOUBLINGS)
    ceiling = min(settings.ingestion.retry_base_seconds * 2.0**doublings, MAX_RETRY_DELAY_SECONDS)
    return max(ceiling / 2 + random.uniform(0, ceiling / 2), retry_after or 0.0)  # noqa: S311 - spreads load, guards nothing
