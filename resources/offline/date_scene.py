"""The context of a date phrase: its sentence, and the text before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from resources.offline.date_tense import ONLY_PAST
from resources.offline.date_words import DateWords

LONG_AGO = 200
"""Days that lie so far from the message do not tell what ``the 14th`` is."""

MONTH, DAY = len("2025-03"), len("2025-03-09")
"""Lengths of months and days in ISO format."""

FAR = 200
"""A day that lies so many days back would be told with its year, unless every verb of its clause is of the past."""

_UNDECIDED = 2.0
"""How much farther a date in another year counts, when the text does not say whether it lies behind or ahead."""


@dataclass(slots=True)
class Scene:
    """Where a phrase stands, and the words before it.

    Attributes:
        today: The day of the message.
        recent: The days that were spoken of before, the latest last; ``the 14th`` may be one of them.
        just_now: Those of the last few messages.
        span: The first and the last of several days that were spoken of, such as a journey.
        month: Year and month that the sentence named last.
        year: The year that the sentence names in words, such as ``last year``.
        beside: Whether the sentence names days or months.
        listed: The day before this one in a list of days.
        shared: The year that another day of the list names; 0 if no day of that year can stand before it.
        lean: Whether the sentence speaks of the past (negative) or the future (positive), and how surely; 0 if unknown.
        habit: Whether the sentence speaks of what happens again and again.
        happened: Whether it tells of something that happened on that date.
    """

    words: DateWords
    text: str
    today: date
    recent: list[date]
    just_now: list[date]
    span: tuple[date, date] | None
    year: int | None
    beside: bool
    month: tuple[int, int] | None = None
    listed: date | None = None
    shared: int | None = None
    lean: float = 0.0
    habit: bool = False
    happened: bool = False

    def note(self, kind: str, dates: Sequence[str]) -> None:
        """Remember what a phrase of this sentence means, for those after it."""
        for day in dates:
            if len(day) == MONTH:
                self.month = (int(day[:4]), int(day[5:]))
            elif len(day) == DAY and kind != "near":
                self.month = None
                self.recent.append(date.fromisoformat(day))
                self.just_now.append(self.recent[-1])

    def lately(self) -> list[date]:
        """Return the days that were spoken of and do not lie far from the message."""
        return [day for day in self.recent if abs((day - self.today).days) < LONG_AGO]


def nearest(days: Iterable[date], scene: Scene) -> date:
    """Return the day that is meant: the nearest in the direction of the tense; another year needs a reason.

    Raises:
        ValueError: There is no day.
    """
    around = list(days)
    if scene.happened:
        around = [day for day in around if day <= scene.today] or around
    ahead = [day for day in around if day >= scene.today]

    def cost(day: date) -> float:
        apart = (day - scene.today).days
        is_soon = bool(ahead) and (min(ahead) - scene.today).days < FAR
        is_of_this_year = scene.lean < 0 and day.year == scene.today.year
        if apart < -FAR and scene.lean > ONLY_PAST and is_soon and not is_of_this_year:
            return math.inf
        against = scene.lean and (apart > 0) != (scene.lean > 0) and apart != 0
        elsewhere = not scene.lean and day.year != scene.today.year
        return abs(apart) * (abs(scene.lean) if against else _UNDECIDED if elsewhere else 1.0)

    return min(around, key=cost)
