"""The arithmetic of belief: how far facts are believed once everything that speaks for and against them is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

MOST = 0.99
"""Nothing is believed more than this."""

DOUBTED = 0.3
"""A belief that falls below this, or to half of its value, is for a person to look at."""

DISPUTED = 0.5
"""The share of a belief that a dispute leaves. A fact that was superseded or taken back is not believed at all."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Grounds:
    """The grounds of one fact.

    Attributes:
        confidences: The greatest confidence of each source that says so, or says the same in other words.
        standing: 1, ``DISPUTED``, or 0 for what no longer stands.
    """

    confidences: Sequence[float]
    standing: float = 1.0


def own(confidences: Iterable[float]) -> float:
    """Return the belief in something that distinct sources say: 1 − ∏(1 − c), at most ``MOST``."""
    return min(MOST, 1 - prod(1 - min(1.0, max(0.0, one)) for one in confidences))


def beliefs(grounds: Mapping[K, Grounds], depends: Mapping[K, Mapping[K, float]]) -> dict[K, float]:
    """Return the belief in each fact: its own, times ∏ (1 − s · (1 − belief)) over the facts that it depends on.

    A dependency on a fact without grounds counts as one on something that is not believed.

    Args:
        grounds: What speaks for each fact.
        depends: What each fact depends on, with strengths from 0 to 1. A circle is cut where it is entered again.
    """
    known: dict[K, float] = {}
    for first in grounds:
        _believe(first, grounds, depends, known)
    return known


def is_shaken(before: float, after: float) -> bool:
    """Whether a belief fell so far that a person should look at it."""
    return after <= before / 2 < before or after < DOUBTED <= before


def _believe(
    first: K, grounds: Mapping[K, Grounds], depends: Mapping[K, Mapping[K, float]], known: dict[K, float]
) -> None:
    """Add the belief in one fact, and in all that it depends on; without recursion, for long chains."""
    waiting, entered = [first], set[K]()
    while waiting:
        one = waiting[-1]
        if one in known:
            waiting.pop()
            continue
        targets = depends.get(one, {})
        if one not in entered:
            entered.add(one)
            waiting += [each for each in targets if each in grounds and each not in known and each not in entered]
            continue
        waiting.pop()
        ground = grounds[one]
        # A fact that is entered and not known yet is part of a circle: it counts as itself, undiminished.
        rests = (
            1 - strength * (1 - known.get(each, own(grounds[each].confidences) if each in grounds else 0.0))
            for each, strength in targets.items()
        )
        known[one] = own(ground.confidences) * ground.standing * prod(rests)
