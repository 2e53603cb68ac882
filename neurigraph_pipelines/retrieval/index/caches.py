"""In-process search caches, one set per database.

Holds values for as long as nothing changed that they depend on. All that outdates a value is part of its key or its
version, and the caller decides both.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database

WATCH_SECONDS = 60.0
"""Age at which it is asked again whether a graph has canaries, records that expire, or conflicts."""

_TURNS = 64
"""Locks that all keys share: enough that two callers seldom wait for each other."""

MOST_WATCHES = 100_000
"""Most watches of all callers together; each conflict counts as one, too."""

Value = TypeVar("Value")


class CacheEntry(NamedTuple):
    """A cached value, with its version, its size and the monotonic time of its expiry."""

    value: Any
    version: Hashable
    size: int
    expires_at: float


class Cache:
    """A least recently used cache, bounded by the sum of its values' sizes. Thread-safe.

    A value is found by its type and a key: one cache holds values of several types, and the least recently used of all
    makes room.

    Attributes:
        hits: Number of values that were found.
        misses: Number of values that had to be made, and were stored.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[type, Hashable], CacheEntry] = OrderedDict()
        self._size = 0
        self.hits = self.misses = 0
        self._lock = threading.Lock()

    def get(self, kind: type[Value], key: Hashable, version: Hashable = None) -> Value | None:
        """Return the value of this type if it is of this version and has not expired."""
        with self._lock:
            entry = self._entries.get((kind, key))
            if entry is None or entry.version != version or entry.expires_at <= time.monotonic():
                return None
            self._entries.move_to_end((kind, key))
            self.hits += 1
            value: Value = entry.value
            return value

    def peek(self, kind: type[Value], key: Hashable) -> Value | None:
        """Return the value of this type in any version, unless it has expired."""
        with self._lock:
            entry = self._entries.get((kind, key))
            return entry.value if entry is not None and entry.expires_at > time.monotonic() else None

    def put(
        self,
        key: Hashable,
        value: object,
        capacity: int,
        *,
        size: int = 1,
        version: Hashable = None,
        seconds: float = math.inf,
    ) -> None:
        """Store a value, then evict the least recently used until the sizes add up to at most ``capacity``.

        Args:
            seconds: Age at which the value expires.
        """
        place = (type(value), key)
        with self._lock:
            self.misses += 1
            replaced = self._entries.pop(place, None)
            self._size += size - (replaced.size if replaced is not None else 0)
            self._entries[place] = CacheEntry(value, version, size, time.monotonic() + seconds)
            self._evict(capacity)

    def measure(self, kind: type[Value], key: Hashable, capacity: int, size_of: Callable[[Value], int]) -> None:
        """Take the size of a value again, because the value has grown, and evict as ``put`` does."""
        with self._lock:
            entry = self._entries.get((kind, key))
            if entry is None:
                return
            size = size_of(entry.value)
            self._size += size - entry.size
            self._entries[kind, key] = entry._replace(size=size)
            self._evict(capacity)

    def _evict(self, capacity: int) -> None:
        while self._size > capacity:
            _, evicted = self._entries.popitem(last=False)
            self._size -= evicted.size

    def drop(self, kind: type, key: Hashable) -> None:
        """Remove a value, if it is there."""
        with self._lock:
            if (removed := self._entries.pop((kind, key), None)) is not None:
                self._size -= removed.size

    @property
    def size(self) -> int:
        """The sum of the sizes of all values."""
        return self._size

    def values(self, kind: type[Value]) -> list[Value]:
        """Return all values of a type."""
        with self._lock:
            return [entry.value for (of, _), entry in self._entries.items() if of is kind]

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
        answers: Results of ``find`` by asker and question, each counted as one; their version is the data version.
        nodes: Layers, words and facts of nodes, by node, and by asker where it matters; their version is that of the
            node, or of the data.
        graphs: What one asker sees of a graph: shells, unstored messages, the rows that the last question was ranked
            by, facts as lists show them, staged nodes.
        watches: Whether a graph has canaries, records that expire, and conflicts, asked again after a while.
        unfetched: Claims for which nodes were staged and not prefetched since.
    """

    def __init__(self) -> None:
        self.answers, self.nodes, self.graphs, self.watches = Cache(), Cache(), Cache(), Cache()
        self.unfetched: set[Claims] = set()
        self._turns = tuple(threading.Lock() for _ in range(_TURNS))

    def turn(self, key: Hashable) -> threading.Lock:
        """Return the lock under which a value of this key is made, so that one of many questions at once makes it."""
        return self._turns[hash(key) % _TURNS]


_CACHES: WeakKeyDictionary[Database, SearchCaches] = WeakKeyDictionary()


def caches_of(database: Database) -> SearchCaches:
    """Return the caches of a database, creating them on first use."""
    caches = _CACHES.get(database)
    return caches if caches is not None else _CACHES.setdefault(database, SearchCaches())
