"""The pause between two rounds of the sensors: it ends as soon as there is work, and is long when there is none."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from threading import Event
from types import TracebackType
from typing import Self

from neurigraph_pipelines.ingestion.arrivals import Work, work
from neurigraph_pipelines.wiring.installation import Installation

LOOK_SECONDS = 0.5
LEAST_SECONDS = 2.0
"""Time from the end of a round to the next that something may cause, so that what arrives together shares a run."""

IDLE_SECONDS = 30.0
DROPS_SECONDS = 10.0
"""Longest pauses without work; the shorter one where files may arrive in a drop place, which only a sensor looks at."""

_UNKNOWN = Work(arrived=True, under_way=True)
_log = logging.getLogger(__name__)


class Pause(Event):
    """What Dagster's loop waits on between two rounds; a context manager that keeps an installation open.

    Args:
        stopping: Set when the daemon stops; ends a pause, too.
    """

    def __init__(self, stopping: Event) -> None:
        super().__init__()
        self._stopping = stopping
        self._opened = ExitStack()
        self._installation: Installation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the next round is due.

        Args:
            timeout: Dagster's own pause. It holds when work is left that the last round could not take on, such as
                that of a held queue, and while runs are under way.

        Returns:
            Whether the daemon stops.
        """
        began, pause = time.monotonic(), timeout or 0.0
        found = self._look()
        if not found.under_way and not found.arrived:
            pause = max(pause, self._longest())
        while not self._stopping.is_set() and (left := began + pause - time.monotonic()) > 0:
            self._stopping.wait(min(left, LOOK_SECONDS))
            if not found.arrived and self._look().arrived:
                return self._stopping.wait(max(0.0, began + LEAST_SECONDS - time.monotonic()))
        return self._stopping.is_set()

    def _longest(self) -> float:
        """Return the longest pause, less than half of the silence that readiness allows the sensors."""
        assert self._installation is not None
        settings = self._installation.settings
        longest = DROPS_SECONDS if settings.uploads.drop_url is not None else IDLE_SECONDS
        allowed = settings.readiness.sensor_seconds / 2
        return min(longest, allowed) if allowed else longest

    def _look(self) -> Work:
        """Return whether there is work; if the database does not say, the sensors tick as Dagster's do."""
        try:
            if self._installation is None:
                self._installation = self._opened.enter_context(Installation())
            return work(self._installation.context)
        except Exception:
            _log.warning("the sensors tick by the clock: cannot ask for work", exc_info=True)
            self._close()
            return _UNKNOWN

    def _close(self) -> None:
        self._installation = None
        try:
            self._opened.close()
        except Exception:
            _log.warning("an installation did not close", exc_info=True)
