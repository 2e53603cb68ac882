"""A thread that delivers events right after the commit that raised them, woken by the database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import OperationalError

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.webhooks.delivery import deliver_due, seconds_until_due
from neurigraph_pipelines.webhooks.outbox import Outbox

_STOP_SECONDS = 0.5
"""Longest time until the thread notices that it is to stop; the database is not asked meanwhile."""

_RETRY_SECONDS = 5.0
_log = logging.getLogger(__name__)
_QUERIES = statements("session")


@contextmanager
def delivering(outbox: Outbox) -> Iterator[None]:
    """Deliver in a thread of its own while the block runs; do nothing if the settings allow no webhooks."""
    if not outbox.sender.is_on:
        yield
        return
    stopping = threading.Event()
    thread = threading.Thread(target=_run, args=(outbox, stopping), name="webhooks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _run(outbox: Outbox, stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            _listen(outbox, stopping)
        except (OperationalError, NeurigraphError) as error:
            _log.warning("webhooks wait for the database (%s)", type(error).__name__)
            stopping.wait(_RETRY_SECONDS)


def _listen(outbox: Outbox, stopping: threading.Event) -> None:
    with outbox.context.database.maintenance() as connection:
        connection.execute(_QUERIES["listen_for_events"])
        while not stopping.is_set():
            deliver_due(outbox, most=1_000)
            due = seconds_until_due(outbox)
            wake_at = None if due is None else time.monotonic() + max(due, 0.0)
            while not stopping.is_set() and (wake_at is None or time.monotonic() < wake_at):
                rest = _STOP_SECONDS if wake_at is None else min(_STOP_SECONDS, max(wake_at - time.monotonic(), 0.0))
                if any(connection.notifies(timeout=rest, stop_after=1)):
                    break
