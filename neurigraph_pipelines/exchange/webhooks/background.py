"""A thread that delivers events within half a second of the commit that raised them.

It asks the database, since a notification could be heard by every role (docs/adr/0036-peers-and-webhooks.md).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import OperationalError

from neurigraph_pipelines.exchange.webhooks.delivery import deliver_due, pause
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
from neurigraph_pipelines.model.errors import NeurigraphError

_RETRY_SECONDS = 5.0
_AT_ONCE = 1_000
_log = logging.getLogger(__name__)


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
            seconds = pause(outbox)
            if seconds == 0.0:
                deliver_due(outbox, _AT_ONCE)
        except (OperationalError, NeurigraphError) as error:
            _log.warning("webhooks wait for the database (%s)", type(error).__name__)
            seconds = _RETRY_SECONDS
        stopping.wait(seconds)
