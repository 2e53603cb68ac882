"""Questions that ask for several things, and results that do not all come from one record.

Pure functions, for English; questions in other languages are ranked like those that ask for one thing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPREAD = 0.02
"""What a message loses for each better one of its record, if the question asks for several things: what is counted,
listed or compared was said at different times."""

_SEVERAL = re.compile(
    r"\bhow\s+many\b|\bin\s+(?:what|which)\s+ways\b|\bin\s+common\b"
    r"|\b(?:list|both|order|summary|overview|summari[sz]e|compare)\b",
    re.IGNORECASE,
)


def asks_for_several(query: str) -> bool:
    """Return whether a question counts, lists, orders, sums up or compares things."""
    return _SEVERAL.search(query) is not None


def spread(score: NDArray[Any], record: NDArray[Any]) -> NDArray[Any]:
    """Return the scores of some messages after each has paid for the better ones of its record.

    Args:
        score: Highest first.
        record: The row of each message's record.
    """
    order = np.argsort(record, kind="stable")
    begins = np.flatnonzero(np.diff(record[order], prepend=-1))
    better = np.empty(len(record))
    better[order] = np.arange(len(record)) - np.repeat(begins, np.diff(begins, append=len(record)))
    paid: NDArray[Any] = score - SPREAD * better
    return paid
