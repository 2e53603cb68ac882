"""The meaning of a phrase for a date: a reading for each kind of phrase that ``date_words`` finds.

A reading takes the words and a scene, and returns ISO days, months or years; an empty list means that the words are no
date, though no other rule may read them.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

from neurigraph_pipelines.text.calendar_words import weekday_before, weekend_before
from resources.offline.date_scene import Item, Scene, fits, full_year, items_of, nearest, read_year
from resources.offline.date_tense import clause
from resources.offline.date_words import part

FILLED_DAYS = 3
"""A range of at most so many days stands for each of them; of a longer one only the ends are named."""

YEAR_UNIT = 4
"""The number of years among the units."""

OF_WEEK = 3
"""The number of words such as ``of next week`` beside a weekday; negative for the week before."""

WEEKEND = 5
"""The number of the first weekday of a weekend."""

_LISTED = 150
"""Most days between two days of one list."""

_ONE_DAY, _WEEK = timedelta(days=1), timedelta(weeks=1)

Reading = Callable[[re.Match[str], Scene], list[str]]


def _iso_day(match: re.Match[str], _scene: Scene) -> list[str]:
    return [date(int(match["year"]), int(match["m"]), int(match["d"])).isoformat()]


def _iso_month(match: re.Match[str], _scene: Scene) -> list[str]:
    return [_month_of(int(match["year"]), int(match["m"]))]


def _figures(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``14.02.2025``: the day comes first, in English only if the other order is not nearer to today."""
    first, second, year = int(match["d"]), int(match["m"]), match["year"]
    if scene.shared is not None and not year:
        year = f"{scene.shared:04d}"
    orders = [(first, second)]
    if scene.words.code not in ("de", "es", "fr") and match["sign"] != ".":
        orders.append((second, first))
    years = [full_year(year, scene.today)] if year else _years_around(scene.today)
    days = [date(y, month, day) for y in years for day, month in orders if _exists(y, month, day)]
    return [nearest(days, scene).isoformat()]


def _day_of_month(match: re.Match[str], scene: Scene) -> list[str]:
    month, named = scene.words.months[part(match, "month")], part(match, "named")
    item = Item(_day_number(part(match, "day")), scene.words.weekdays[named] if named else None)
    return [_in_year(match, scene, month, [item]).isoformat()]


def _month_day(match: re.Match[str], scene: Scene) -> list[str]:
    return [_in_year(match, scene, int(match["m"]), [Item(int(match["d"]))]).isoformat()]


def _days(match: re.Match[str], scene: Scene) -> list[str]:
    name = part(match, "month")
    month = scene.words.months[name] if name else int(part(match, "m"))
    items = items_of(match, scene)
    year = _in_year(match, scene, month, items).year
    days: list[date] = []
    for before, item in zip([None, *items], items, strict=False):
        day = date(year, month, item.day)
        is_filled = before is not None and item.through and None in (before.weekday, item.weekday)
        days += filled(days[-1], day)[1:] if is_filled else [day]
    return [day.isoformat() for day in days]


def filled(first: date, last: date) -> list[date]:
    """Return the days of a short range, or the ends of a long one."""
    return days_within(first, last) if 0 <= (last - first).days < FILLED_DAYS else [first, last]


def days_within(first: date, last: date) -> list[date]:
    """Return the days from the first to the last."""
    return [first + n * _ONE_DAY for n in range((last - first).days + 1)]


def _in_year(match: re.Match[str], scene: Scene, month: int, items: Sequence[Item]) -> date:
    """Return the last day of some of a month, in the year that the words name, or in one that fits weekdays and tense.

    Raises:
        ValueError: There is no such day, or no year in which the days fall on their weekdays.
    """
    day = items[-1].day
    if year := part(match, "year") or part(match, "short"):
        return date(full_year(year, scene.today), month, day)
    if shift := part(match, "before") or part(match, "after"):
        return date(scene.today.year + scene.words.relative[shift], month, day)
    if scene.year is not None:
        return date(scene.year, month, day)
    if scene.shared is not None:
        return date(scene.shared, month, day)
    if scene.listed is not None:
        following = [date(y, month, day) for y in (scene.listed.year, scene.listed.year + 1) if _exists(y, month, day)]
        near = [one for one in following if 0 < (one - scene.listed).days < _LISTED]
        if near:
            return near[0]
    days = [date(year, month, day) for year in _years_around(scene.today) if _exists(year, month, day)]
    days = [one for one in days if all(fits(item, one) for item in items)]
    known = [one for one in scene.recent if one in days]
    return known[-1] if known else nearest(days, scene)


def _nth_weekday(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``the last Friday of September``."""
    words, month = scene.words, scene.words.months[part(match, "month")]
    number, nth = words.weekdays[part(match, "weekday")], words.nth[part(match, "nth")]
    year = _in_year(match, scene, month, [Item(15)]).year
    days = [date(year, month, day) for day in range(1, calendar.monthrange(year, month)[1] + 1)]
    return [[day for day in days if day.weekday() == number][nth - (nth > 0)].isoformat()]


def _month_and_year(match: re.Match[str], scene: Scene) -> list[str]:
    month = scene.words.months[part(match, "month")]
    if year := part(match, "year"):
        return [_month_of(int(year), month)]
    shift = scene.words.relative[part(match, "before") or part(match, "after")]
    return [_month_of(scene.today.year + shift, month)]


def _month(match: re.Match[str], scene: Scene) -> list[str]:
    words, name = scene.words, part(match, "month")
    shift = part(match, "before") or part(match, "after")
    month = words.months[name]
    repeated = scene.habit and (not part(match, "prefix") or words.within.fullmatch(part(match, "prefix")))
    if repeated or (words.doubtful.fullmatch(name) and not shift and not _is_month(name, part(match, "prefix"))):
        return []
    if shift:
        sign = words.relative[shift]
        if sign == 0:
            return [_month_of(scene.today.year, month)]
        passed = month >= scene.today.month if sign < 0 else month <= scene.today.month
        return [_month_of(scene.today.year + sign * passed, month)]
    if scene.shared is not None:
        return [_month_of(scene.shared, month)]
    if not scene.lean:
        return []  # a few words without a verb, such as ``13 in November.``
    middle = 15 if month != scene.today.month else scene.today.day
    found = nearest((date(year, month, middle) for year in _years_around(scene.today)), scene)
    return [_month_of(found.year, month)]


def _is_month(name: str, prefix: str) -> bool:
    """Whether ``may`` is a month: it has a capital after any preposition, or stands after one that needs a time."""
    return bool(prefix) and (name[0].isupper() or prefix.lower() in _SURE_PREFIXES)


def _season(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``summer of '98`` as the year; a season has no days of its own."""
    if year := part(match, "year") or part(match, "short"):
        return [f"{full_year(year, scene.today)}"]
    return []


def _holiday(match: re.Match[str], scene: Scene) -> list[str]:
    for pattern, month_day in scene.words.holidays.items():
        if re.fullmatch(pattern, match.group(), re.IGNORECASE):
            month, day = map(int, month_day.split("-"))
            return [nearest((date(year, month, day) for year in _years_around(scene.today)), scene).isoformat()]
    return []


def _ago(match: re.Match[str], scene: Scene) -> list[str]:
    return _apart(match, scene, -1)


def _ahead(match: re.Match[str], scene: Scene) -> list[str]:
    return _apart(match, scene, 1)


def _apart(match: re.Match[str], scene: Scene, sign: int) -> list[str]:
    if part(match, "half"):
        return [_shifted_month(scene.today, sign * 6)]
    counted, unit = part(match, "count"), scene.words.units[part(match, "unit")]
    count = int(counted) if counted.isdigit() else scene.words.counts[counted]
    if sign > 0 and (scene.lean < 0 or unit == YEAR_UNIT):
        return []  # it took so long, or is general: ``How much will it be worth in a year?``
    if unit == 0:
        return [(scene.today + timedelta(days=sign * count)).isoformat()]
    if unit == 1:
        return []
    if unit == 2:
        return [(weekend_before(scene.today) - timedelta(weeks=count - 1)).isoformat()] if sign < 0 else []
    return [_shifted_month(scene.today, sign * count)] if unit == 3 else [_shifted_year(scene.today, sign * count)]


def _near(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``yesterday``; a question about today, such as ``What is it worth today?``, tells of nothing."""
    apart = scene.words.near[match.group()]
    if apart == 0 and scene.lean >= 0 and scene.text.endswith("?"):
        return []
    return [(scene.today + timedelta(days=apart)).isoformat()]


def _habit(_match: re.Match[str], _scene: Scene) -> list[str]:
    return []


def _ordinal(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``the 14th``: a day that was spoken of, one in that month, or the nearest in the direction of the tense."""
    day, named, today = _day_number(part(match, "day")), part(match, "named"), scene.today
    number = scene.words.weekdays[named] if named else None
    if scene.listed is not None:
        month = scene.listed.year * 12 + scene.listed.month - 1
        following = [one for one in _existing([month, month + 1], day) if one > scene.listed]
        return [one.isoformat() for one in following[:1] if number in (None, one.weekday())]
    if scene.month is None and scene.habit and not named:
        return []
    if scene.month is None:
        for known in reversed(scene.lately()):
            if known.day == day and number in (None, known.weekday()):
                return [known.isoformat()]
    around = [today.year * 12 + today.month - 1 + shift for shift in (0, 1, 2, -1)]
    days = [one for one in _existing([*_months_spoken_of(scene), *around], day) if number in (None, one.weekday())]
    if scene.month is not None and days:
        return [days[0].isoformat()]
    if scene.lean < 0:
        return [nearest(days, scene).isoformat()]
    ahead = [one for one in days if one >= today]
    return [(ahead[0] if ahead else nearest(days, scene)).isoformat()]


def _months_spoken_of(scene: Scene) -> Iterator[int]:
    """Yield the month of this sentence, or that of the last day that was ahead, and the month after it."""
    if scene.month is not None:
        yield scene.month[0] * 12 + scene.month[1] - 1
        return
    ahead = [day for day in scene.lately()[-1:] if day >= scene.today]
    for day in ahead:
        yield from (day.year * 12 + day.month - 1 + shift for shift in (0, 1))


def _existing(months: Sequence[int], day: int) -> list[date]:
    numbers = [(number // 12, number % 12 + 1) for number in dict.fromkeys(months)]
    return [date(year, month, day) for year, month in numbers if _exists(year, month, day)]


def _weekday(match: re.Match[str], scene: Scene) -> list[str]:
    shift = part(match, "before") or part(match, "after")
    if scene.habit and not shift:
        return []
    if scene.words.code != "de" and _NAME.match(scene.text, match.end()):
        return []
    number, today = scene.words.weekdays[part(match, "weekday")], scene.today
    before = weekday_before(today, number)
    after = today + timedelta(days=(number - today.weekday() - 1) % 7 + 1)
    sign = scene.words.relative[shift] if shift else 0
    if sign == 2:
        return [(after + _WEEK).isoformat()]
    if abs(sign) == OF_WEEK:
        return [(today + timedelta(days=number - today.weekday()) + _WEEK * (sign // OF_WEEK)).isoformat()]
    if sign:
        return [((before if sign < 0 else after) - _WEEK * (sign == -2)).isoformat()]
    if not shift and scene.lean >= 0 and (day := _weekday_spoken_of(match, number, scene)):
        return [day.isoformat()]
    if part(match, "the") and scene.lean >= 0:
        return []  # of a week that was not named
    return [(before if scene.lean < 0 else after).isoformat()]


def _weekday_spoken_of(match: re.Match[str], number: int, scene: Scene) -> date | None:
    """Return the day that was spoken of and falls on a weekday, or today if the words say so."""
    ahead = [day for day in scene.just_now[-_LATELY:] if day > scene.today]
    for day in reversed(ahead):
        if day.weekday() == number:
            return day
    if scene.span is not None and scene.span[0] > scene.today:
        days = [day for day in days_within(*scene.span) if day.weekday() == number]
        if len(days) == 1:
            return days[0]
    if part(match, "the") and ahead:
        return next(
            day for day in days_within(ahead[-1] - _ONE_DAY, ahead[-1] + 5 * _ONE_DAY) if day.weekday() == number
        )
    is_today = number == scene.today.weekday() and _says_today(match, scene) and _ENDS.match(scene.text, match.end())
    return scene.today if is_today else None


def _says_today(match: re.Match[str], scene: Scene) -> bool:
    """Return whether a weekday begins its sentence or clause, alone or after words such as ``it's``."""
    start = match.start()
    first, _ = clause(scene.text, start, match.end())
    has_words = bool(scene.text[first:start].strip())
    return scene.words.today_is.fullmatch(scene.text, first if has_words else 0, start) is not None


def _unit(match: re.Match[str], scene: Scene) -> list[str]:
    """Read ``last month``; a week is no date, ``next year`` is some time, ``last year`` beside a day says its year."""
    sign = scene.words.relative[part(match, "before") or part(match, "after")]
    unit = scene.words.units[part(match, "unit")]
    if unit == 2:
        saturday = scene.today + timedelta(days=(5 - scene.today.weekday()) % 7)
        is_over = sign < 0 or (sign == 0 and scene.lean < 0 and scene.today.weekday() < WEEKEND)
        return [(weekend_before(scene.today) if is_over else saturday).isoformat()]
    if not sign or unit == 1 or (unit == YEAR_UNIT and (sign > 0 or scene.beside)):
        return []
    return [_shifted_month(scene.today, sign)] if unit == 3 else [_shifted_year(scene.today, sign)]


READINGS: dict[str, Reading] = {
    "iso_day": _iso_day,
    "iso_month": _iso_month,
    "figures": _figures,
    "days": _days,
    "figure_days": _days,
    "day_of_month": _day_of_month,
    "month_day": _month_day,
    "nth_weekday": _nth_weekday,
    "month_and_year": _month_and_year,
    "season": _season,
    "month": _month,
    "holiday": _holiday,
    "ago": _ago,
    "ahead": _ahead,
    "near": _near,
    "habit": _habit,
    "ordinal": _ordinal,
    "weekday": _weekday,
    "unit": _unit,
    "year": read_year,
}

_NAME = re.compile(r" [A-Z][a-z]")
_LATELY = 2
_ENDS = re.compile(r"\s*(?:[.,;:!]|$|of\b|\b(?:now|jetzt|ahora|maintenant)\b)")
_SURE_PREFIXES = frozenset("in since until during early mid late".split())


def _day_number(words: str) -> int:
    return int(words) if words.isdigit() else 1


def _years_around(today: date) -> tuple[int, int, int]:
    return (today.year - 1, today.year, today.year + 1)


def _month_of(year: int, month: int) -> str:
    return date(year, month, 1).isoformat()[: len("0000-00")]  # years beyond the calendar raise


def _shifted_year(today: date, count: int) -> str:
    return f"{today.replace(year=today.year + count, day=1).year:04d}"


def _shifted_month(today: date, months: int) -> str:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return _month_of(year, month + 1)


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]
