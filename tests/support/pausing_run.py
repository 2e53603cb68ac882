"""A run that stores a batch and stops at a chosen moment, for tests to kill; or that dies by itself.

Run as ``python -m tests.support.pausing_run URL SECRET OBJECTS USER_ID MOMENT OCCURRENCE [CONNECTIONS]``; prints
``paused`` when it gets there. With two connections, the default, it stores one user after another. With the moment
``never`` it runs to its end, unless a text says DEADLY: that kills the process, as the kernel does when memory runs
out. The adapters are the real ones behind wrappers that implement the same ports.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Keywords, Outline, Placement, Segment, StoredObject, Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database, ObjectStore, Transaction
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
from resources.postgres.delegating import DelegatingDatabase
from resources.storage.local import LocalObjectStore
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.memories import PlainModel, WordEmbedder

MOMENTS = (
    ("assigning", 1),
    ("summarizing", 1),
    ("summarizing", 2),
    ("describing", 1),
    ("embedding", 1),
    ("durable object written", 1),
    ("durable object written", 2),
    ("working copy written", 2),
    ("transaction open", 1),
    ("transaction open", 2),
    ("transaction committed", 1),
    ("transaction committed", 2),
)
LEASE_SECONDS = 0.5


class Moments:
    """Counts events and stops at the chosen one."""

    def __init__(self, moment: str, occurrence: int) -> None:
        self._chosen = (moment, occurrence)
        self._seen: Counter[str] = Counter()

    def come(self, moment: str) -> None:
        self._seen[moment] += 1
        if (moment, self._seen[moment]) == self._chosen:
            print("paused", flush=True)
            threading.Event().wait()


class PausingModel(PlainModel):
    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        self._moments.come("assigning")
        return super().place(segment, outline)

    def summarize(self, segment: Segment, words: int) -> Summary:
        self._moments.come("summarizing")
        if any("DEADLY" in message.content for message in segment.messages):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().summarize(segment, words)

    def extract_keywords(self, segment: Segment) -> Keywords:
        self._moments.come("describing")
        return super().extract_keywords(segment)


class PausingEmbedder(WordEmbedder):
    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        self._moments.come("embedding")
        return super().embed(texts, kind)


class PausingStore:
    def __init__(self, inner: ObjectStore, moments: Moments) -> None:
        self._inner, self._moments = inner, moments
        self.get, self.get_range, self.exists = inner.get, inner.get_range, inner.exists
        self.keys, self.modified_at = inner.keys, inner.modified_at

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        stored = self._inner.put(key, chunks)
        self._moments.come("durable object written" if key.startswith("durable/") else "working copy written")
        return stored

    def move_to_cold(self, key: str) -> None:
        self._inner.move_to_cold(key)
        self._moments.come("object moved to the cold")

    def delete(self, key: str) -> None:
        self._inner.delete(key)
        self._moments.come("object removed")


class PausingDatabase(DelegatingDatabase):
    """A database that pauses in transactions of the pipeline and the owner that write to a table."""

    def __init__(self, inner: Database, moments: Moments, table: str) -> None:
        super().__init__(inner)
        self._moments, self._table = moments, table

    def pipeline(self) -> AbstractContextManager[Transaction]:
        return self._pausing(super().pipeline())

    def owner(self) -> AbstractContextManager[Transaction]:
        return self._pausing(super().owner())

    @contextmanager
    def _pausing(self, transaction: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
        with transaction as tx:
            yield tx
            query = "SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND relation = %s::regclass AND mode = %s"
            storing = tx.execute(query, [self._table, "RowExclusiveLock"]).fetchone() is not None
            if storing:
                self._moments.come("transaction open")
        if storing:
            self._moments.come("transaction committed")


def main() -> None:
    url, secret, objects, user_id, moment, occurrence, *connections = sys.argv[1:]
    moments = Moments(moment, int(occurrence))
    parts = SimpleNamespace(
        settings=Settings.model_validate({}).changed(
            claim_lease_seconds=LEASE_SECONDS, database_pool_size=int(connections[0]) if connections else 2
        ),
        database=PausingDatabase(PostgresDatabase(url, Secret(secret)), moments, "neurigraph.delta_log"),
        objects=PausingStore(LocalObjectStore(Path(objects)), moments),
        language_model=PausingModel(moments),
        embedder=PausingEmbedder(moments),
        tokens=EstimatedCounter(),
    )
    for _ in run_due(Context(parts), "to be killed", UUID(user_id)):
        pass


if __name__ == "__main__":
    main()
