"""What is kept in this process for as long as nothing changed that it depends on.

Knows keys and values, not questions: what makes a value outdated is part of its key, or of the value.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class AnswerCache(Generic[Value]):
    """The values that were used last, up to a number (or size) and an age; threads may share one.

    Args:
        seconds: Age from which a value is no longer given: a node that is asked about often must be seen to be in use.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, tuple[float, Value, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value kept under ``key``, unless it is too old."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] <= time.monotonic():
                return None
            self._kept.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, value: Value, most: int, size: int = 1) -> None:
        """Keep a value, and of all those that were used last, up to ``most`` in the sum of their sizes."""
        with self._lock:
            before = self._kept.pop(key, None)
            self._size += size - (before[2] if before is not None else 0)
            self._kept[key] = (time.monotonic() + self._seconds, value, size)
            while self._size > most:
                _, (_, _, oldest) = self._kept.popitem(last=False)
                self._size -= oldest
