"""Answers kept in this process for as long as nothing changed that they depend on.

Knows keys and values, not questions: what makes an answer outdated is part of its key.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class AnswerCache(Generic[Value]):
    """The most recently used answers, up to a number and an age; threads may share one.

    Args:
        seconds: Age from which an answer is computed again: a node that is asked about often must be seen to be in use.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The answer kept under ``key``, unless it is too old."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] <= time.monotonic():
                return None
            self._kept.move_to_end(key)
            return found[1]

    def put(self, key: Hashable, value: Value, most: int) -> None:
        """Keep an answer, and of all the ``most`` that were used last."""
        with self._lock:
            self._kept[key] = (time.monotonic() + self._seconds, value)
            self._kept.move_to_end(key)
            while len(self._kept) > most:
                self._kept.popitem(last=False)
