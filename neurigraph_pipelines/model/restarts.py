"""When to start something again that died: at once, and then with growing pauses if it does not stay alive."""

from __future__ import annotations

from dataclasses import dataclass

STABLE_SECONDS = 30.0
"""Life after which a death counts as the first one again."""

LONGEST_PAUSE_SECONDS = 60.0
CRASH_LOOP = 5
"""Short lives in a row that count as a crash loop."""


@dataclass(slots=True)
class Restarts:
    """The lives of one process; times are seconds of a monotonic clock.

    Attributes:
        started_at: Start of the current life, or of the last one.
        deaths: Short lives in a row, the last one included.
    """

    started_at: float
    deaths: int = 0

    def died(self, now: float) -> float:
        """Count a death; return the pause before the next start: none at first, then doubling from half a second."""
        self.deaths = 1 if now - self.started_at > STABLE_SECONDS else self.deaths + 1
        return 0.0 if self.deaths == 1 else min(0.5 * 2.0 ** min(self.deaths - 2, 32), LONGEST_PAUSE_SECONDS)

    def loops(self, now: float) -> bool:
        """Return whether it is in a crash loop."""
        return self.deaths >= CRASH_LOOP and now - self.started_at <= STABLE_SECONDS + LONGEST_PAUSE_SECONDS
