"""Waiting until sources are stored or have failed, without a thread or a query for each caller who waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from uuid import UUID

MAX_WAIT_SECONDS = 30.0
"""Longest time that one call waits."""

MAX_WAITERS = 100
"""Callers who wait at the same time; others get the present state at once."""

PAUSE_SECONDS = 0.5
"""Time between two looks at the database."""

_log = logging.getLogger(__name__)


class Waiters:
    """Callers in one event loop who wait for sources. One statement every half a second asks for all of them.

    Args:
        settled: Returns those of some sources that are stored or have failed.
    """

    def __init__(self, settled: Callable[[Collection[UUID]], set[UUID]]) -> None:
        self._settled = settled
        self._waiting: dict[UUID, set[asyncio.Event]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    async def wait(self, source_id: UUID, seconds: float) -> None:
        """Return once a source is stored or has failed, or the time is over."""
        if self._count >= MAX_WAITERS or seconds <= 0:
            return
        event = asyncio.Event()
        self._waiting.setdefault(source_id, set()).add(event)
        self._count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())
        try:
            await asyncio.wait_for(event.wait(), min(seconds, MAX_WAIT_SECONDS))
        except TimeoutError:
            pass
        finally:
            self._count -= 1
            events = self._waiting[source_id]
            events.discard(event)
            if not events:
                del self._waiting[source_id]

    async def _look(self) -> None:
        while self._waiting:
            try:
                done = await asyncio.to_thread(self._settled, list(self._waiting))
            except Exception:  # those who wait get the last state when their time is over
                _log.warning("the progress of %s sources could not be read", len(self._waiting), exc_info=True)
                done = set()
            for source_id in done:
                for event in self._waiting.get(source_id, ()):
                    event.set()
            await asyncio.sleep(PAUSE_SECONDS)
