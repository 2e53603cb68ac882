"""Years that the dates of a list share: ``3 May and 5 June 2023`` names the year once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from resources.offline.date_readings import READINGS
from resources.offline.date_scene import DAY, Scene
from resources.offline.date_words import DateWords, part

NO_YEAR = 0
"""The year of a date that cannot stand before the one that names a year."""

_SHARING = ("figures", "figure_days", "days", "day_of_month", "month_day", "month")
"""Kinds of phrases that take the year of the next one."""

_NAMING = (*_SHARING, "iso_day", "month_and_year")
_OF_YEAR = ("days", "day_of_month", "month_and_year")
"""Kinds in which ``last`` and ``next`` speak of a year, as in ``5 June last year``."""

_MOST_APART = timedelta(days=150)


def are_linked(text: str, end: int, start: int, words: DateWords) -> bool:
    """Whether the words between two dates make them ends of a range or items of a list."""
    return any(pattern.fullmatch(text, end, start) for pattern in (words.listed, words.between))


def shared_years(found: Sequence[tuple[str, re.Match[str]]], scene: Scene) -> dict[int, int]:
    """Return the years of dates without any, by their numbers, where a later date of the same list names one."""
    years: dict[int, int] = {}
    for number in range(len(found) - 2, -1, -1):
        (kind, match), (next_kind, following) = found[number], found[number + 1]
        if kind not in _SHARING or next_kind not in _NAMING or names_year(match):
            continue
        year = years.get(number + 1) or _named_year(next_kind, following, scene)
        if year and are_linked(scene.text, match.end(), following.start(), scene.words):
            years[number] = _year_before(number, found, year, scene)
    return years


def _named_year(kind: str, match: re.Match[str], scene: Scene) -> int:
    if year := part(match, "year"):
        return int(year)
    shift = part(match, "before") or part(match, "after")
    return scene.today.year + scene.words.relative[shift] if shift and kind in _OF_YEAR else NO_YEAR


def names_year(match: re.Match[str]) -> bool:
    """Whether a phrase says its year, in figures or in words."""
    return any(part(match, name) for name in ("year", "short", "before", "after"))


def _year_before(number: int, found: Sequence[tuple[str, re.Match[str]]], year: int, scene: Scene) -> int:
    """Return the year of a date that stands before another one: the same, or the one before for a day shortly before.

    The first day of a range may lie long before the last.
    """
    (kind, match), (next_kind, following) = found[number], found[number + 1]
    end = _read(next_kind, following, scene, year)
    if not _read(kind, match, scene, year):
        return NO_YEAR  # such as 29 February of a year without one
    is_range = scene.words.between.fullmatch(scene.text, match.end(), following.start()) is not None
    for candidate in (year, year - 1):
        start = _read(kind, match, scene, candidate)
        if not start or not end or start[-1] > end[0]:
            continue
        is_near = len(start[-1]) < DAY or len(end[0]) < DAY or _apart(start[-1], end[0]) < _MOST_APART
        if candidate == year or is_range or is_near:
            return candidate
    return NO_YEAR


def _apart(first: str, second: str) -> timedelta:
    return date.fromisoformat(second) - date.fromisoformat(first)


def _read(kind: str, match: re.Match[str], scene: Scene, year: int) -> list[str]:
    scene.shared = year
    try:
        return READINGS[kind](match, scene)
    except (ValueError, OverflowError):
        return []
    finally:
        scene.shared = None
