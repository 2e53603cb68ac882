"""Split a segment into parts of one subject each, for two messages as for two thousand.

Each message with which a part may begin opens a piece. The two neighbours that most probably belong together are joined
until no change is doubtful. How probable a change is, is a weighed sum of the figures of ``cohesion`` (log odds). The
result depends only on the text, never on the graph: equal text gives equal parts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from neurigraph_pipelines.model import Role
from resources.offline.cohesion import WEIGHTS, Cohesion

LEAST, LEAST_GROWTH = -2.2, 0.35
"""Log odds that each change needs, and what is added for each e-fold number of messages with which a part may begin."""

SURE, SURE_GROWTH = -2.0, 1.6
"""The same for the clearest change, without which nothing is cut: the clearest of many is clear by chance."""

MOST_SURE, USUAL_GROWTH = 1.3, 4.0
"""The most that is asked of the clearest change up to so many e-folds, and 1 more for each beyond, as in meetings."""

MAX_PARTS = 64
SAME = -4.0
"""Log odds of a change below which a part returns to the subject of an earlier one: a part that is wrongly joined is
filed, and granted, with words of another subject, and a part that stays alone is only filed by itself."""

MAX_LOOKED_BACK = 12
"""Earlier subjects with which a part is compared, the latest first."""


@dataclass(frozen=True, slots=True)
class Part:
    """Messages from position ``start`` up to but not including ``end``."""

    start: int
    end: int


def split(cohesion: Cohesion) -> list[Part]:
    """Split a segment into consecutive parts: one, unless its subject clearly changes."""
    messages = cohesion.messages
    openings = [at for at in range(1, len(messages)) if messages[at].role is Role.USER]
    pieces = _Pieces(cohesion, [0, *openings, len(messages)])
    growth = math.log(max(1, len(openings)))
    pieces.join(LEAST + LEAST_GROWTH * growth)
    if pieces.clearest() < min(SURE + SURE_GROWTH * growth, MOST_SURE + max(0.0, growth - USUAL_GROWTH)):
        return [Part(0, len(messages))]
    return pieces.parts()


def subjects_of(cohesion: Cohesion, parts: Sequence[Part]) -> list[int]:
    """Return the number of each part's subject: its own, or that of the earlier part to which it returns."""
    found: list[int] = []
    for number, part in enumerate(parts):
        earlier = [one for one in dict.fromkeys(reversed(found[:-1])) if one != found[-1]][:MAX_LOOKED_BACK]
        odds = {one: cohesion.apart((parts[one].start, parts[one].end), (part.start, part.end)) for one in earlier}
        nearest = min(odds, key=odds.__getitem__, default=number)
        found.append(nearest if odds.get(nearest, SAME) < SAME else number)
    return found


class _Pieces:
    """The pieces of a segment while they are joined. A change is called by the position at which a piece begins."""

    def __init__(self, cohesion: Cohesion, bounds: Sequence[int]) -> None:
        self._cohesion = cohesion
        self._before = {end: start for start, end in pairwise(bounds)}
        self._after = dict(pairwise(bounds))
        self._odds: dict[int, float] = {}
        self._queue: list[tuple[float, int]] = []
        for at in bounds[1:-1]:
            self._weigh(at)

    def join(self, least: float) -> None:
        """Join neighbours, the most doubtful change first, until each has ``least`` and there are few enough."""
        while self._queue:
            odds, at = heapq.heappop(self._queue)
            if self._odds.get(at) != odds:
                continue  # weighed again since
            if odds >= least and len(self._odds) < MAX_PARTS:
                return
            before, after = self._before.pop(at), self._after.pop(at)
            del self._odds[at]
            self._after[before], self._before[after] = after, before
            for changed in (before, after):
                if changed in self._odds:
                    self._weigh(changed)

    def clearest(self) -> float:
        """Return the log odds of the clearest change."""
        return max(self._odds.values(), default=-math.inf)

    def parts(self) -> list[Part]:
        """Return the pieces, in order."""
        return [Part(start, end) for start, end in sorted(self._after.items())]

    def _weigh(self, at: int) -> None:
        figures = self._cohesion.figures(self._before[at], at, self._after[at])
        self._odds[at] = float(figures @ WEIGHTS[self._cohesion.has_meaning])
        heapq.heappush(self._queue, (self._odds[at], at))
