"""Years that the dates of a list share: ``3 May and 5 June 2023`` names the year once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from resources.offline.date_readings import READINGS
from resources.offline.date_scene import Scene
from resources.offline.date_words import DateWords, part

NO_YEAR = 0
"""The year of a date that cannot stand before the one that names a year."""

_SHARING = ("figures", "figure_days", "days", "day_of_month", "month_day", "month")
"""Kinds of phrases that take the year of the next one."""


def are_linked(text: str, end: int, start: int, words: DateWords) -> bool:
    """Whether the words between two dates make them ends of a range or items of a list."""
    return any(pattern.fullmatch(text, end, start) for pattern in (words.listed, words.between))


def shared_years(found: Sequence[tuple[str, re.Match[str]]], scene: Scene) -> dict[int, int]:
    """Return the years of dates without any, by their numbers, where a later date of the same list names one.

    It is the year before for the first day of a range across the turn of the year.
    """
    years: dict[int, int] = {}
    for number in range(len(found) - 2, -1, -1):
        (kind, match), (_, following) = found[number], found[number + 1]
        year = years.get(number + 1) or int(part(following, "year") or NO_YEAR)
        between = (scene.text, match.end(), following.start())
        if year and kind in _SHARING and not names_year(match) and are_linked(*between, scene.words):
            start, end = (_read(one, phrase, scene, year) for one, phrase in found[number : number + 2])
            is_range = scene.words.between.fullmatch(*between) is not None
            is_before = start and end and start[-1] <= end[0]
            years[number] = year if is_before else year - 1 if start and end and is_range else NO_YEAR
    return years


def names_year(match: re.Match[str]) -> bool:
    """Whether a phrase says its year, in figures or in words."""
    return any(part(match, name) for name in ("year", "short", "before", "after"))


def _read(kind: str, match: re.Match[str], scene: Scene, year: int) -> list[str]:
    scene.shared = year
    try:
        return READINGS[kind](match, scene)
    except (ValueError, OverflowError):
        return []
    finally:
        scene.shared = None
