"""A pull from a publisher that dies as by ``kill -9`` at a chosen moment.

Run as ``python -m tests.support.dying_pull PEER_ID MOMENT`` with pickled settings on standard input. Moments are
counted from one: each request before it is sent and after its answer came, each transaction before and after its
commit, each object that was written or removed. A pull with fewer moments ends by itself.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from io import BufferedRandom
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import pull
from neurigraph_pipelines.model import StoredObject
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database, ObjectStore, PeerAnswer, Transaction
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from resources.postgres.delegating import DelegatingDatabase
from tests.support.memories import WordEmbedder


class Clock:
    """Counts moments, and kills the process at one of them."""

    def __init__(self, last: int) -> None:
        self._left = last

    def tick(self) -> None:
        """Let one moment pass."""
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


class DyingDatabase(DelegatingDatabase):
    """A database whose transactions are moments."""

    def __init__(self, inner: Database, clock: Clock) -> None:
        super().__init__(inner)
        self._clock = clock

    def pipeline(self) -> AbstractContextManager[Transaction]:
        return self._counted(super().pipeline())

    def owner(self) -> AbstractContextManager[Transaction]:
        return self._counted(super().owner())

    @contextmanager
    def _counted(self, transaction: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
        with transaction as tx:
            yield tx
            self._clock.tick()
        self._clock.tick()


class DyingStore:
    """A store whose writes and removals are moments."""

    def __init__(self, inner: ObjectStore, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self.get, self.get_range, self.exists = inner.get, inner.get_range, inner.exists
        self.keys, self.modified_at, self.move_to_cold = inner.keys, inner.modified_at, inner.move_to_cold

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        stored = self._inner.put(key, chunks)
        self._clock.tick()
        return stored

    def delete(self, key: str) -> None:
        self._inner.delete(key)
        self._clock.tick()


class DyingClient:
    """A client whose requests and answers are moments."""

    is_on = True

    def __init__(self, clock: Clock) -> None:
        self._inner, self._clock = HttpPeerClient((), ("127.0.0.1",), 60.0), clock
        self.check = self._inner.check

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        max_bytes: int,
        into: BufferedRandom | None = None,
    ) -> PeerAnswer:
        self._clock.tick()
        answer = self._inner.ask(method, url, headers, body, max_bytes, into)
        self._clock.tick()
        return answer


def main() -> None:
    peer_id, moment = sys.argv[1:]
    clock = Clock(int(moment))
    with Installation(pickle.load(sys.stdin.buffer)) as here:
        parts = SimpleNamespace(
            settings=here.settings,
            database=DyingDatabase(here.database, clock),
            objects=DyingStore(here.objects, clock),
            embedder=WordEmbedder(),
        )
        pull(Peering(Context(parts), DyingClient(clock), here.secret), UUID(peer_id))


if __name__ == "__main__":
    main()
