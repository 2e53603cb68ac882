"""The words for dates of each language as compiled patterns: ``dates.toml`` in the forms of ``date_forms.toml``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from neurigraph_pipelines.views.scalars import WireObject
from resources.offline.lexicon import filled, read_data

LANGUAGES = ("en", "de", "es", "fr")
"""Codes of the languages with words for dates; of all others only months and dates in figures are read."""

TENSES = ("arranged", "past", "future", "participle", "present")
_WHOLE = r"(?<!\w)(?:{cue})(?!\w)"
_CUES = (
    "auxiliary perhaps could condition habit weekly sure regular yearly born moved cancelled within doubtful weekday "
    "part_of_day items listed between backward forward refuted ahead_of today_is refused".split()
)
_NEEDED = dict.fromkeys(("days", "day_of_month", "nth_weekday", "month_and_year", "month"), "months") | {
    "weekday": "weekdays"
}
"""Kinds whose patterns match only where a month or a weekday is named: two short searches save most of their time."""

_UNITS = ("day", "week", "weekend", "month", "year")
_LONGEST_FIRST = ("day", "weekend", "week", "month", "year")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_NEVER = re.compile(r"(?!)")


class Choice:
    """Words with a number each, such as months."""

    def __init__(self, numbers: Iterable[tuple[str, int]] = ()) -> None:
        self.numbers = tuple((_compiled(pattern), number) for pattern, number in numbers)

    def __getitem__(self, words: str) -> int:
        """Return the number of words that the pattern of the language matched."""
        plain = " ".join(words.lower().rstrip(".").split())
        for pattern, number in self.numbers:
            if pattern.fullmatch(plain):
                return number
        raise ValueError(f"{words!r} is not among {len(self.numbers)} words")


class Rule(NamedTuple):
    """A kind of date and its pattern, which matches only in texts that have what it ``needs``; None needs nothing."""

    kind: str
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None = None


class DateWords:
    """The words of one language. Its other attributes are the patterns of ``cues``; one it lacks never matches.

    Attributes:
        is_known: Whether more words are known than names of months.
        hint: A sentence without it has no date.
        rules: The patterns of dates, longer and more certain forms first.
        relative: Words for the one before last (-2), last (-1), this (0), next (1) and the one after (2), and for one
            of last week (-3) or next week (3).
        nth: Words for first (1) to fourth, and last (-1).
        units: ``day`` 0, ``week`` 1, ``weekend`` 2, ``month`` 3, ``year`` 4.
    """

    def __init__(self, code: str, data: WireObject, forms: WireObject) -> None:
        self.code = code
        self.is_known = code in LANGUAGES
        groups = forms["groups"] | _groups(data) | ({} if self.is_known else forms["named"])
        cues = forms["cues"] if self.is_known else forms["named"]
        self._cues = {name: _compiled(filled(pattern, groups)) for name, pattern in _framed(cues, data)}
        self.rules = tuple(_rules(code, data, groups, forms["rule"]))
        self.months, self.counts = (Choice(_numbered(data.get(name, ()), 1)) for name in ("months", "counts"))
        named = zip(data.get("weekdays", ()), data.get("short_weekdays", ()), strict=True)
        self.weekdays = Choice(_numbered((f"(?:{long}|{short})" for long, short in named), 0))
        self.near, self.nth = (Choice(data.get(name, {}).items()) for name in ("near", "nth"))
        self.relative = Choice([*data.get("before", {}).items(), *data.get("after", {}).items()])
        units = data.get("units", {})
        self.units = Choice(_numbered((units[unit] for unit in _UNITS if units), 0))
        self.holidays: Mapping[str, str] = data.get("holidays", {})
        hints = ("months", "weekdays", "near", "holidays") if self.is_known else ()
        words = [*chain.from_iterable(data[name] for name in hints), *units.values()]
        self.hint = _compiled(rf"\d|\b(?:{'|'.join(words)})" if words else r"\d")

    def __getattr__(self, name: str) -> re.Pattern[str]:
        """Return the pattern of a cue."""
        return self._cues.get(name, _NEVER)


@cache
def date_words(code: str) -> DateWords:
    """Return the words of a language, by its code of two letters."""
    forms = read_data("date_forms.toml")
    months = [f"(?:{names})" for names in forms["months"].get(code, "").split()]
    return DateWords(code, read_data("dates.toml").get(code, {"months": months}), forms)


def _framed(cues: Mapping[str, str], data: WireObject) -> Iterator[tuple[str, str]]:
    """Yield the cues of a language, each with its pattern."""
    for name in _CUES:
        if name in cues or name in data:
            yield name, cues.get(name, _WHOLE).replace("{cue}", data.get(name, ""))
    if tenses := "|".join(f"(?P<{tense}>{data[tense]})" for tense in TENSES if tense in data):
        yield "tense", _WHOLE.replace("{cue}", tenses)


def _groups(data: WireObject) -> dict[str, str]:
    """Return the values of the names in braces in a language: its words, and alternatives of those in lists."""
    names = "|".join("|".join(_dotted(name.removeprefix("(?:").removesuffix(")"))) for name in data["months"])
    groups = {name: words for name, words in data.items() if isinstance(words, str)} | {"month_names": names}
    if "weekdays" not in data:
        return groups
    units = data["units"]
    return groups | {
        "weekdays": "|".join(data["weekdays"]),
        "short_weekdays": "|".join(data["short_weekdays"]),
        "short": "|".join(f"{word}[.]?" for word in data["short_weekdays"]),
        **{name: f"(?P<{name}>{'|'.join(data[name])})" for name in ("before", "after", "nth")},
        "count": rf"(?P<count>\d{{1,3}}|{'|'.join(reversed(data['counts']))})",
        "unit": f"(?P<unit>{'|'.join(units[unit] for unit in _LONGEST_FIRST)})(?!\\w)",
        "longer_unit": f"(?P<unit>{'|'.join(units[unit] for unit in _LONGEST_FIRST[1:])})(?!\\w)",
        "holidays": "|".join(data["holidays"]),
        "near": "|".join(sorted(data["near"], key=len, reverse=True)),
        "of_year": f"(?:{data['of_year']})?",
    }


def _dotted(names: str) -> Iterator[str]:
    """Yield a month's names; its abbreviations may end with a full stop."""
    for number, name in enumerate(names.split("|")):
        yield name if number == 0 else f"{name}[.]?"


def _rules(code: str, data: WireObject, groups: Mapping[str, str], rules: Iterable[Any]) -> Iterator[Rule]:
    """Yield the patterns of a language: of a rule with ``{form}`` one for each of the forms that the language has."""
    is_known = code in LANGUAGES
    own = {"any", "", code} if is_known else {"any", "named"} if data["months"] else {"any"}
    needed = {name: _compiled("|".join(data[name])) for name in _NEEDED.values()} if is_known else {}
    for kind, languages, pattern in ((rule["kind"], rule["languages"], rule["pattern"]) for rule in rules):
        if own.isdisjoint(languages.split() or [""]):
            continue
        needs = needed.get(_NEEDED.get(kind, ""))
        # Dates begin with a letter or a digit: at the ends of words, nothing else needs to be tried.
        begun = rf"\b(?=\w){pattern[2:]}" if is_known and pattern.startswith(r"\b") else pattern
        for form in _forms(kind, data) if "{form}" in pattern else [""]:
            yield Rule(kind, _compiled(filled(begun.replace("{form}", form), groups)), needs)


def _forms(kind: str, data: WireObject) -> list[str]:
    """Return the forms of a kind that a language has; those of a list of days end with the month."""
    listed: list[str] = data[{"days": "day_of_month", "habit": "habit_forms"}.get(kind, kind)]
    return [form for form in listed if kind != "days" or not form.startswith("{month}")]


def _numbered(words: Iterable[str], first: int) -> Iterator[tuple[str, int]]:
    return ((pattern, number) for number, pattern in enumerate(words, start=first))


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which a name of a group may stand several times: the second ``day`` becomes ``day_2``."""
    seen: Counter[str] = Counter()

    def renamed(group: re.Match[str]) -> str:
        seen[group[1]] += 1
        return f"(?P<{group[1]}_{seen[group[1]]}>" if seen[group[1]] > 1 else group[0]

    return re.compile(_GROUP.sub(renamed, pattern), re.IGNORECASE)


def part(match: re.Match[str], name: str) -> str:
    """Return the text that a group matched anywhere in the pattern; empty if the group did not match."""
    for group in (name, f"{name}_2", f"{name}_3"):
        if group in match.re.groupindex and match[group]:
            return str(match[group])
    return ""
