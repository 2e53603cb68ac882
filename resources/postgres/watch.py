"""Restarts the embedded server when it dies, for a process that always needs the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.restarts import Restarts
from neurigraph_pipelines.settings.log_files import rotate
from resources.postgres.embedded import EmbeddedPostgres

_POLL_SECONDS = 0.2


@contextmanager
def kept_running(home: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Restart the server of a home folder when it dies, with growing pauses if it dies again soon.

    Args:
        home: The home folder; the caller holds a lease on its server.
        report: Takes one line about each start and each failure.
    """
    done = threading.Event()
    thread = threading.Thread(target=_watch, args=(EmbeddedPostgres(home), report, done), name="postgres", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _watch(server: EmbeddedPostgres, report: Callable[[str], None], done: threading.Event) -> None:
    log, lives, start_at = server.status().log_file, Restarts(0.0), 0.0
    while not done.wait(_POLL_SECONDS):
        with suppress(OSError):
            rotate(log)
        now = time.monotonic()
        try:
            if now < start_at or server.status().running:
                continue
            if start_at == 0.0:
                start_at = now + lives.died(now)
                continue
            start_at = 0.0
            if server.revive():
                report("postgres had ended: it was started again")
        except (NeurigraphError, OSError) as error:
            report(f"postgres cannot be started: {error}")
        lives.started_at = time.monotonic()
