"""Years alone: figures that are a year and no amount, and years of two digits."""

from __future__ import annotations

import re
from datetime import date

from resources.offline.date_scene import Scene
from resources.offline.date_words import part

_YEARS_AHEAD = 60
_YEARS = re.compile(r"\b(?:1[6-9]|20)\d\d ?[–-] ?$")
_YEARS_FOLLOW = re.compile(r" ?[–-] ?(?:1[6-9]|20)\d\d\b")
_OF_YEARS = frozenset("the of since year".split())
_MONEY = ("£", "$", "€", "#", ".", ",", "-", "/", "+")
_COUNTED = re.compile(r"\s?[€$£%]|\s(?:[a-z]{3,}s|euro|people|km|kg|m|kr|watt|volt|ml)\b")
_NOUN = re.compile(r"\s[A-ZÄÖÜ]")


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
