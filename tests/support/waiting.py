"""Waiting for conditions: polling with a short interval and a deadline."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

POLL_SECONDS = 0.01
PATIENCE_SECONDS = 700.0
"""For what several processes do on a machine that is busy with other work: no test waits for the time to pass."""


def wait_until(
    condition: Callable[[], object], what: str = "the condition", seconds: float = 60.0, interval: float = POLL_SECONDS
) -> None:
    """Return as soon as ``condition`` is true.

    Raises:
        AssertionError: It stayed false for ``seconds``; the message names ``what``.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(interval)


def wait_for_process(condition: Callable[[], object], process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    """Return as soon as ``condition`` is true, which ``process`` is to bring about.

    Raises:
        AssertionError: It stayed false for ``seconds``, or the process ended before.
    """

    def reached() -> bool:
        ended = process.poll() is not None
        holds = bool(condition())
        assert holds or not ended, "the process ended before"
        return holds

    wait_until(reached, "what the process does", seconds)
