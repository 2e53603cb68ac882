"""The days of a list such as ``3-5 and 7 June``, before their year is known."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from resources.offline.date_scene import Scene
from resources.offline.date_words import part


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
