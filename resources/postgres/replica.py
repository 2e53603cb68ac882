"""Implements ``ports.Replica``: reads of agents come from a streaming standby, everything else goes to the primary.

How far the standby is behind is measured by positions in the write-ahead log, so neither clocks nor the standby's own
view of its connection count.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import psycopg
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Database, Transaction
from resources.postgres.delegating import DelegatingDatabase

WAIT_SECONDS = 1.0
"""Longest wait for a connection to a standby: the primary answers meanwhile."""

_LOOK_SECONDS, _LOOK_AGAIN_SECONDS = 1.0, 5.0
_MOST_POSITIONS = 1_000
_QUERIES = statements("session")
_log = logging.getLogger(__name__)


class ReplicaReads(DelegatingDatabase):
    """A primary and its standby as one database: methods that are not overridden go to the standby.

    Args:
        primary: Takes all writes.
        standby: A streaming standby of it, with the same roles.
        most_seconds: The standby is current while it has all that was committed so many seconds ago.
    """

    def __init__(self, primary: Database, standby: Database, most_seconds: float) -> None:
        super().__init__(standby)
        self._primary = primary
        self._most_seconds = most_seconds
        self._look_every = min(_LOOK_SECONDS, most_seconds / 4)
        self._looking = threading.Lock()
        self._look_at = self._complete_until = -float("inf")
        self._written: deque[tuple[float, int]] = deque(maxlen=_MOST_POSITIONS)

    def is_current(self) -> bool:
        """Return whether the standby answers and is at most ``most_seconds`` behind; looked at once a second."""
        if time.monotonic() >= self._look_at and self._looking.acquire(blocking=False):
            pause = self._look_every
            try:
                self._look()
            except (psycopg.Error, NeurigraphError) as error:
                pause = _LOOK_AGAIN_SECONDS
                _log.warning("searches read from the primary: the standby cannot be asked (%s)", type(error).__name__)
            finally:
                self._look_at = time.monotonic() + pause
                self._looking.release()
        return time.monotonic() - self._complete_until <= self._most_seconds

    def set_aside(self) -> None:
        """Read from the primary until the standby has been looked at again, some seconds later."""
        self._look_at = time.monotonic() + _LOOK_AGAIN_SECONDS
        self._complete_until = -float("inf")

    def _look(self) -> None:
        """Note how far the primary has written, and until when the standby has everything."""
        now = time.monotonic()
        (written,) = self._primary.ask(None, _QUERIES["written_position"], {})
        self._written.append((now, written["position"]))
        (replayed,) = self.inner.ask(None, _QUERIES["replayed_position"], {})
        if replayed["position"] is None:
            _log.error("searches read from the primary: NEURIGRAPH_DATABASE_REPLICA_URL names no streaming standby")
            return
        while self._written and self._written[0][1] <= replayed["position"]:
            self._complete_until = self._written.popleft()[0]

    def owner(self) -> AbstractContextManager[Transaction]:
        """Open a transaction on the primary."""
        return self._primary.owner()

    def pipeline(self) -> AbstractContextManager[Transaction]:
        """Open a transaction on the primary."""
        return self._primary.pipeline()

    def maintenance(self) -> AbstractContextManager[Transaction]:
        """Open a connection to the primary."""
        return self._primary.maintenance()

    def later(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[DictRow]], object] | None = None,
    ) -> bool:
        """Run a background statement, such as the log of a read, on the primary."""
        return self._primary.later(claims, statement, parameters, then)

    def wait_for_background(self) -> None:
        """Wait for the primary."""
        self._primary.wait_for_background()

    def renew_connections(self) -> None:
        """Replace the primary's connections: pipelines write."""
        self._primary.renew_connections()
