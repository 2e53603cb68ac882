"""In-process search caches, one set per database.

Holds values for as long as nothing changed that they depend on. What outdates a value is part of its key or its
version, and the caller decides both.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.facts import FactRows, NodeFacts
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.index.unstored import Unstored
from neurigraph_pipelines.views.facts import Fact

ANSWER_SECONDS = 60.0
"""Age at which a cached answer expires, so that a node that is asked about often is still seen to be in use."""

WATCH_SECONDS = 60.0
"""Age at which it is asked again whether a graph has canaries, or records that expire."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Entry(NamedTuple, Generic[Value]):
    """A cached value, with its version, its size and the monotonic time of its expiry."""

    value: Value
    version: Hashable
    size: int
    expires_at: float


class Cache(Generic[Value]):
    """A least recently used cache, bounded by the sum of its values' sizes and by age. Thread-safe.

    Args:
        seconds: Age at which values expire.

    Attributes:
        hits: Number of values that were found.
        misses: Number of values that had to be made, and were stored.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self._seconds = seconds
        self._entries: OrderedDict[Hashable, Entry[Value]] = OrderedDict()
        self._size = 0
        self.hits = self.misses = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, version: Hashable = None) -> Value | None:
        """Return the value of ``key`` if it is of this version and has not expired."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.version != version or entry.expires_at <= time.monotonic():
                return None
            self._entries.move_to_end(key)
            self.hits += 1
            return entry.value

    def get_all(self, versions: Mapping[Key, Hashable]) -> dict[Key, Value] | None:
        """Return the values of some keys in these versions; None unless all are there."""
        with self._lock:
            found = {}
            for key, version in versions.items():
                entry = self._entries.get(key)
                if entry is None or entry.version != version or entry.expires_at <= time.monotonic():
                    return None
                found[key] = entry.value
            for key in found:
                self._entries.move_to_end(key)
            self.hits += len(found)
            return found

    def peek(self, key: Hashable) -> Value | None:
        """Return the value of ``key`` in any version, unless it has expired."""
        with self._lock:
            entry = self._entries.get(key)
            return entry.value if entry is not None and entry.expires_at > time.monotonic() else None

    def put(self, key: Hashable, value: Value, capacity: int, *, size: int = 1, version: Hashable = None) -> None:
        """Store a value, then evict the least recently used until the sizes add up to at most ``capacity``."""
        with self._lock:
            self.misses += 1
            replaced = self._entries.pop(key, None)
            self._size += size - (replaced.size if replaced is not None else 0)
            self._entries[key] = Entry(value, version, size, time.monotonic() + self._seconds)
            while self._size > capacity:
                _, evicted = self._entries.popitem(last=False)
                self._size -= evicted.size

    def drop(self, key: Hashable) -> None:
        """Remove the value of ``key``, if there is one."""
        with self._lock:
            if (removed := self._entries.pop(key, None)) is not None:
                self._size -= removed.size

    @property
    def size(self) -> int:
        """The sum of the sizes of all values."""
        return self._size

    @property
    def values(self) -> list[Value]:
        """All values."""
        with self._lock:
            return [entry.value for entry in self._entries.values()]

    @property
    def entries(self) -> int:
        """The number of values."""
        return len(self._entries)


class Conflicting(NamedTuple):
    """First and last messages of facts that update or contradict others, by record; and whether these are all."""

    stated: Mapping[str, Sequence[tuple[int, int]]]
    are_all: bool


class SearchCaches:
    """In-process search caches, one set per database. Thread-safe.

    Attributes:
        answers: Results of ``find`` by asker and question; their version is the data version they come from.
        layers: The layers of nodes by node id; their version is the node's version and the embedding model.
        vectors: Vectors of the passages of packed layers by node id; their version is that of the packed layer.
        rows: The rows of the layers that an asker's last question was ranked by; their version is those layers.
        shells: Shells by asker and embedding dimensions.
        staged: The nodes that were staged, by asker, data version and period.
        unfetched: Claims for which nodes were staged and not prefetched since.
        watched: Whether a user's graph has canaries to watch.
        expiring: Whether anything in a user's graph expires.
        conflicting: The messages with facts that update or contradict others, by caller.
        unstored: The messages that are not stored yet, by asker.
        facts: The facts of nodes, by asker and node; their version is the data version.
        fact_rows: The facts that an asker's last question was ranked with; their version is the data version.
        fact_views: Facts as lists show them, by asker and fact; their version is the data version.
    """

    def __init__(self) -> None:
        # The type of a result belongs to ``query``, which imports this module.
        self.answers: Cache[Any] = Cache(ANSWER_SECONDS)
        self.layers: Cache[NodeLayers] = Cache()
        self.vectors: Cache[Floats] = Cache()
        self.rows: Cache[Rows] = Cache()
        self.shells: Cache[Shells] = Cache()
        self.staged: Cache[frozenset[int]] = Cache()
        self.unfetched: set[Claims] = set()
        self.watched: Cache[bool] = Cache(WATCH_SECONDS)
        self.expiring: Cache[bool] = Cache(WATCH_SECONDS)
        self.conflicting: Cache[Conflicting] = Cache(WATCH_SECONDS)
        self.unstored: Cache[Unstored] = Cache()
        self.facts: Cache[NodeFacts] = Cache()
        self.fact_rows: Cache[FactRows] = Cache()
        self.fact_views: Cache[Fact] = Cache(ANSWER_SECONDS)


_CACHES: WeakKeyDictionary[Database, SearchCaches] = WeakKeyDictionary()


def caches_of(database: Database) -> SearchCaches:
    """Return the caches of a database, creating them on first use."""
    caches = _CACHES.get(database)
    return caches if caches is not None else _CACHES.setdefault(database, SearchCaches())
