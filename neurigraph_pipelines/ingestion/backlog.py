"""How far storing lags behind the messages that each user hands in, for the answers to their writes."""

from __future__ import annotations

import threading
import time
from uuid import UUID

from neurigraph_pipelines.ingestion.readiness import lagging_users
from neurigraph_pipelines.model.context import Context

REFRESH_SECONDS = 5.0


class Backlog:
    """The users whose segments wait longer than the notice, read from the database at most every five seconds."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._lags: dict[UUID, float] = {}

    @property
    def is_stale(self) -> bool:
        """Whether ``refresh`` is due, and nobody is at it."""
        return time.monotonic() > self._read_at + REFRESH_SECONDS and not self._reading.locked()

    def refresh(self) -> None:
        """Read the lags again, unless another thread does."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            self._lags = lagging_users(self._context.database, self._context.settings.readiness.lag_notice_seconds)
            self._read_at = time.monotonic()
        finally:
            self._reading.release()

    def lag_seconds(self, user_id: UUID) -> float:
        """Return the seconds for which the user's oldest segment has waited; 0 below the notice."""
        return self._lags.get(user_id, 0.0)
