"""The order of day, month and year in dates that are written in numbers, as the text itself shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from neurigraph_pipelines.model import ImportNote
from neurigraph_pipelines.model.sources import SourceDetails

_BUDDHIST_ERA = 543
_BUDDHIST = (2443, 2743)
_SOLAR_HIJRI = (1380, 1429)
"""Years of the calendar of Iran that are near ours, and none of the lunar calendar that are."""

_LUNAR = (1430, 1500)
_SHORT_LUNAR = (40, 51)
"""Years of the calendar of Saudi Arabia, whose months begin as is announced: no rule turns them into ours."""

_IRAN_BEGINS = -356_033
_SHORT_BUDDHIST = (52, 80)
"""Years that are those of the Buddhist era, because they are in the future of ours."""

NAME = "dates"
"""The name among the metadata of a source under which a stated order stands."""

Numbers = tuple[str, str, str]
"""The three numbers of a date, as they are written."""


class DateOrder(StrEnum):
    """The order of day (d), month (m) and year (y)."""

    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


_READ_AS = {
    DateOrder.DMY: "the day first, which is assumed: if that is wrong, import it again and state `dates` as mdy",
    DateOrder.MDY: "the month first, which is assumed: if that is wrong, import it again and state `dates` as dmy",
    DateOrder.YMD: "the year first",
}


class Order(NamedTuple):
    """The order of the dates of a text, and whether it is certain."""

    order: DateOrder
    is_certain: bool


def order_of(dates: Sequence[Numbers], *, has_halves: bool) -> Order:
    """Return the order of dates.

    A number above 12 is no month, and a year of four digits says where it stands. If there is none, the order in which
    fewer dates go back is taken. Then a clock of twelve hours, a year of two digits and numbers without zeros in front
    are those of the United States, and everything else has the day first.

    Args:
        dates: In the order of the text.
        has_halves: Whether times are those of a clock of twelve hours.
    """
    if any(len(first) == 4 for first, _, _ in dates):
        return Order(DateOrder.YMD, is_certain=True)
    if any(int(first) > 31 for first, _, _ in dates):
        return Order(DateOrder.YMD, is_certain=True)
    if any(int(first) > 12 for first, _, _ in dates):
        return Order(DateOrder.DMY, is_certain=True)
    if any(int(second) > 12 for _, second, _ in dates):
        return Order(DateOrder.MDY, is_certain=True)
    returns = {order: _returns([parts(one, order) for one in dates]) for order in (DateOrder.DMY, DateOrder.MDY)}
    if returns[DateOrder.DMY] != returns[DateOrder.MDY]:
        return Order(min(returns, key=lambda order: returns[order]), is_certain=False)
    is_american = has_halves and all(len(one[2]) == 2 for one in dates) and any(_is_unpadded(one) for one in dates)
    return Order(DateOrder.MDY if is_american else DateOrder.DMY, is_certain=False)


def assumed(order: DateOrder) -> ImportNote:
    """Return the note that the order of dates was assumed."""
    return ImportNote(f"its dates are read with {_READ_AS[order]}")


def with_order(details: SourceDetails, order: DateOrder | None) -> SourceDetails:
    """Return details with an order of dates among their metadata."""
    return details if order is None else replace(details, metadata={**details.metadata, NAME: order.value})


def stated_order(metadata: Mapping[str, object]) -> DateOrder | None:
    """Return the order of dates among the metadata of a source."""
    order = metadata.get(NAME)
    return DateOrder(str(order)) if order in tuple(DateOrder) else None


def is_lunar(written: Numbers, order: DateOrder) -> bool:
    """Return whether a date is one of the calendar of Saudi Arabia, which is not read."""
    year = int(written[list(DateOrder(order)).index("y")])
    return _LUNAR[0] <= year <= _LUNAR[1] or _SHORT_LUNAR[0] <= year <= _SHORT_LUNAR[1]


def parts(written: Numbers, order: DateOrder) -> tuple[int, int, int]:
    """Return year, month and day; phones in Thailand and Iran may have their own calendars."""
    named = dict(zip(order, map(int, written), strict=True))
    year = named["y"]
    if _SOLAR_HIJRI[0] <= year <= _SOLAR_HIJRI[1]:
        return _of_iran(year, named["m"], named["d"])
    if _BUDDHIST[0] <= year <= _BUDDHIST[1]:
        year -= _BUDDHIST_ERA
    elif _SHORT_BUDDHIST[0] <= year <= _SHORT_BUDDHIST[1]:
        year += 2500 - _BUDDHIST_ERA
    return (year + 2000 if year < 100 else year), named["m"], named["d"]


def _of_iran(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Return a date of the calendar of Iran in ours, by the leap years of its cycles of 33 years.

    Raises:
        ValueError: There is no such month.
    """
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError("it is no date of the calendar of Iran")
    since = year + 1595
    days = 365 * since + since // 33 * 8 + (since % 33 + 3) // 4 + day
    days += (month - 1) * 31 if month < 7 else (month - 7) * 30 + 186
    found = date.fromordinal(days + _IRAN_BEGINS)
    return found.year, found.month, found.day


def _is_unpadded(written: Numbers) -> bool:
    return any(len(number) == 1 for number in written[:2]) and not any(one.startswith("0") for one in written[:2])


def _returns(dates: Sequence[tuple[int, int, int]]) -> int:
    """Count the dates that are before the date that precedes them."""
    return sum(later < earlier for earlier, later in pairwise(dates))
