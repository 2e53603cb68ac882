"""The context of a date phrase: its sentence, and the text before."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from resources.offline.date_tense import ONLY_PAST
from resources.offline.date_words import DateWords, part

LONG_AGO = 200
"""Days that lie so far from the message do not tell what ``the 14th`` is."""

MONTH, DAY = len("2025-03"), len("2025-03-09")
"""Lengths of months and days in ISO format."""

FAR = 200
"""A day that lies so many days back would be told with its year, unless every verb of its clause is of the past."""

_UNDECIDED = 2.0
"""How much farther a date in another year counts, when the text does not say whether it lies behind or ahead."""
_YEARS_AHEAD = 60
_YEARS = re.compile(r"\b(?:1[6-9]|20)\d\d ?[–-] ?$")
_YEARS_FOLLOW = re.compile(r" ?[–-] ?(?:1[6-9]|20)\d\d\b")
_OF_YEARS = frozenset("the of since year".split())
_MONEY = ("£", "$", "€", "#", ".", ",", "-", "/", "+")
_COUNTED = re.compile(r"\s?[€$£%]|\s(?:[a-z]{3,}s|euro|people|km|kg|m|kr|watt|volt|ml)\b")
_NOUN = re.compile(r"\s[A-ZÄÖÜ]")


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
        """Remember the meaning of a phrase of this sentence, for the phrases after it."""
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


class Item(NamedTuple):
    """A day of a list: its number, the number of its weekday if that is named, and whether it ends a range."""

    day: int
    weekday: int | None = None
    through: bool = False


def items_of(match: re.Match[str], scene: Scene) -> list[Item]:
    """Return the days of a list in which they follow each other, as far as they stand by the month."""
    is_first = bool(part(match, "month")) and match.start("month") == match.start()
    month = match.span("month") if part(match, "month") else match.span("m")
    area = (month[1], match.end()) if is_first else (match.start(), month[0])
    items: list[Item] = []
    weekday, signs = None, set[str]()
    for sign in scene.words.items.finditer(match.string, *area):
        kind = str(sign.lastgroup)
        if kind == "weekday":
            weekday = scene.words.weekdays[sign.group()]
        if kind == "number":
            item = Item(int(sign.group()), weekday, signs == {"through"})
            if items and items[-1].day >= item.day:
                if is_first:
                    break
                items = []
            items.append(item)
            weekday, signs = None, set()
        elif kind != "weekday":
            signs.add(kind)
    return items


def fits(item: Item, day: date) -> bool:
    """Whether an item falls on its weekday in the month of a day."""
    return item.weekday is None or day.replace(day=item.day).weekday() == item.weekday


def read_year(match: re.Match[str], scene: Scene) -> list[str]:
    """Return the year that figures mean; none if they are an amount."""
    year = full_year(part(match, "year") or part(match, "short"), scene.today)
    return [str(year)] if year <= scene.today.year + _YEARS_AHEAD and _is_year(match, scene) else []


def _is_year(match: re.Match[str], scene: Scene) -> bool:
    """Whether figures are a year and no amount: a word for time stands before them, or they stand alone."""
    before, after = scene.text[: match.start()], scene.text[match.end() : match.end() + 40]
    prefix, german = part(match, "prefix"), scene.words.code == "de"
    if _YEARS.search(before) or _YEARS_FOLLOW.match(after):
        return True
    if (
        before.endswith(_MONEY)
        or (prefix.lower() not in _OF_YEARS and _COUNTED.match(after))
        or (german and _NOUN.match(after))
    ):
        return False
    return german or bool(prefix or part(match, "short")) or _stands_alone(before, after)


def _stands_alone(before: str, after: str) -> bool:
    return (not before.strip() or before.rstrip()[-1] in ",;:(") and (not after or after[0] in ",.;:!?)–-")


def full_year(digits: str, today: date) -> int:
    """Return a year; two digits mean the latest that is at most ten years ahead."""
    if len(digits) == 4:
        return int(digits)
    century = (today.year + 10) // 100 * 100
    year = century + int(digits)
    return year if year <= today.year + 10 else year - 100
