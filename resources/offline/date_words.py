"""What a language calls its dates: the words of ``dates.toml`` as compiled patterns, read once for each language."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from neurigraph_pipelines.text.calendar_words import YEAR

LANGUAGES = ("en", "de", "es", "fr")
"""Codes of the languages with words for dates; of all others only dates in figures are read."""

_GROUP = re.compile(r"\(\?P<(\w+)>")
TENSES = ("arranged", "past", "future", "participle", "present")
_NUMBERED = r"(?:1[0-2]|0?[1-9])"
_DAY_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])"


@dataclass(frozen=True, slots=True)
class Choice:
    """Words with a number each, such as months."""

    numbers: tuple[tuple[re.Pattern[str], int], ...]

    def __getitem__(self, words: str) -> int:
        """Return the number of words that the pattern of the language matched."""
        plain = " ".join(words.lower().rstrip(".").split())
        for pattern, number in self.numbers:
            if pattern.fullmatch(plain):
                return number
        raise ValueError(f"{words!r} is not among {len(self.numbers)} words")


@dataclass(frozen=True, slots=True)
class Cues:
    """Patterns that say what a sentence does with its dates.

    Attributes:
        tense: Its groups ``past``, ``arranged``, ``future``, ``participle`` and ``present`` match verbs and the like.
        auxiliary: Verbs that make a participle the past, in languages where a participle alone does not.
        backward, forward: What stands right before a date that lies behind or ahead.
        refuted: What stands right before a date that does not hold.
        ahead_of: A month or year after it is only a limit.
        perhaps: A date in the same clause may never be.
        condition: A date after it may never be.
        intended, but: What stands before and after a date that was only wanted.
        habit: Weekdays and months of the sentence come again and again.
        moved: The sentence names a new date for an old one.
        cancelled: What the sentence names does not take place.
        refused: A message that begins so rejects the date of the question before it.
        slip: Words between a date and the one that takes its place.
    """

    tense: re.Pattern[str]
    auxiliary: re.Pattern[str] | None
    backward: re.Pattern[str]
    forward: re.Pattern[str]
    refuted: re.Pattern[str]
    ahead_of: re.Pattern[str]
    perhaps: re.Pattern[str]
    condition: re.Pattern[str]
    intended: re.Pattern[str]
    but: re.Pattern[str]
    habit: re.Pattern[str]
    moved: re.Pattern[str]
    cancelled: re.Pattern[str]
    refused: re.Pattern[str]
    slip: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class DateWords:
    """The words of one language.

    Attributes:
        rules: Names of kinds of dates and their patterns, longer and more certain forms first.
        relative: Words for last (-1), this (0), next (1) and the one after (2).
        weekday: A full name of a weekday.
        units: ``day`` 0, ``week`` 1, ``weekend`` 2, ``month`` 3, ``year`` 4.
        doubtful: Names of months that are ordinary words too.
        between: The words between the ends of a range of days.
        ends_at_number: Whether a sentence may end with a figure and a full stop; in German that is an ordinal.
    """

    code: str
    rules: tuple[tuple[str, re.Pattern[str]], ...]
    months: Choice
    weekdays: Choice
    near: Choice
    counts: Choice
    relative: Choice
    units: Choice
    holidays: Mapping[str, str]
    weekday: re.Pattern[str]
    doubtful: re.Pattern[str]
    between: re.Pattern[str]
    cues: Cues | None
    ends_at_number: bool


@cache
def date_words(code: str) -> DateWords:
    """Return the words of a language, by its code of two letters; for an unknown one only figures are dates."""
    data = tomllib.loads(files(__package__).joinpath("dates.toml").read_text(encoding="utf-8"))
    return _words(code, data[code]) if code in LANGUAGES else _figures(code)


def _figures(code: str) -> DateWords:
    none, never = Choice(()), re.compile(r"(?!)")
    return DateWords(code, tuple(_figure_rules("")), none, none, none, none, none, none, {}, never, never, never, None, True)


def _words(code: str, data: Mapping[str, Any]) -> DateWords:
    groups = _groups(data)
    units = ("day", "week", "weekend", "month", "year")
    holidays = {pattern: day for pattern, day in data["holidays"].items()}
    return DateWords(
        code=code,
        rules=tuple(_rules(code, data, groups)),
        months=_numbered(data["months"], 1),
        weekdays=_numbered(
            [f"(?:{long}|{short})" for long, short in zip(data["weekdays"], data["short_weekdays"], strict=True)], 0
        ),
        near=_choice(data["near"]),
        counts=_numbered(data["counts"], 1),
        relative=_choice(data["before"] | {f"{words}": number for words, number in data["after"].items()}),
        units=_numbered([data["units"][unit] for unit in units], 0),
        holidays=holidays,
        weekday=_compiled("|".join(data["weekdays"])),
        doubtful=_compiled(f"(?:{data['doubtful_months']})[.]?"),
        between=_compiled(rf"\s*[–-]\s*|,? (?:{data['through']})(?: [^\W\d]+){{0,2}} ?"),
        cues=_cues(data),
        ends_at_number=code != "de",
    )


def _groups(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what the names in braces stand for."""
    weekdays = "|".join(data["weekdays"])
    short = "|".join(f"{word}[.]?" for word in data["short_weekdays"])
    before, after = ("|".join(data[where]) for where in ("before", "after"))
    return {
        "weekdays": weekdays,
        "weekday": f"(?:{weekdays})",
        "any_weekday": f"(?:{weekdays}|{short})",
        "month": f"(?P<month>{'|'.join('|'.join(_dotted(names)) for names in data['months'])})(?!\\w)",
        "day": data["day"],
        "year": YEAR,
        "before": f"(?P<before>{before})",
        "after": f"(?P<after>{after})",
        "count": rf"(?P<count>\d{{1,3}}|{'|'.join(reversed(data['counts']))})",
        "unit": f"(?P<unit>{'|'.join(data['units'][unit] for unit in ('day', 'weekend', 'week', 'month', 'year'))})(?!\\w)",
        "part_of_day": data["part_of_day"],
        "list": rf"(?:(?:,? (?:{data['and']})|,) (?:{weekdays})s?\b)*",
        "ends": rf"(?=\s*(?:[^\w\s]|$)|\s+(?:{data['ordinal_ends']})\b)",
    }


def _dotted(names: str) -> Iterator[str]:
    """Yield a month's names; its abbreviations may end with a full stop."""
    for number, name in enumerate(names.split("|")):
        yield name if number == 0 else f"{name}[.]?"


def _rules(code: str, data: Mapping[str, Any], groups: Mapping[str, str]) -> Iterator[tuple[str, re.Pattern[str]]]:
    def filled(template: str, **more: str) -> str:
        for name, pattern in (groups | more).items():
            template = template.replace("{" + name + "}", pattern)
        return template

    article = "(?:the |dem |den |le |el )?"
    weekday = rf"(?:(?P<named>{groups['any_weekday']})(?:{data['part_of_day']}),? {article})?"
    of_year = f"(?:{filled(data['of_year'])})?"
    joined = rf"(?: ?[–-] ?| (?:(?P<through>{data['through']})|{data['and']}|,) )"
    first = r"(?P<first>[0-3]?\d)(?:st|nd|rd|th|er|º|\.)?"
    yield from _figure_rules(code)
    for form in data["days_of_month"]:
        inner = filled(form)
        if form.index("{day}") < form.index("{month}"):
            yield "days", _compiled(rf"\b(?P<named>{groups['any_weekday']})? ?{first}{joined}(?P<named>{groups['any_weekday']})?,? ?{inner}{of_year}")
        else:
            second = inner.replace("(?P<day>", "(?P<first>", 1).replace(r"(?![:%\d]|[.,]\d)", "")
            yield "days", _compiled(rf"\b{second}{joined}{article}{groups['day']}(?![:%\d]|[.,]\d)\b{of_year}")
    for form in data["days_of_month"]:
        yield "day_of_month", _compiled(rf"\b{weekday}{filled(form)}(?!\w){of_year}")
    yield "month_and_year", _compiled(rf"\b{groups['month']}(?:{filled(data['of_month'])})\b")
    seasons = rf"(?:{data['seasons']})"
    yield "season", _compiled(rf"\b{seasons} {data['of_season']}(?:{YEAR}|['’]?(?P<short>\d\d))\b")
    yield "season", _compiled(rf"\b(?:{groups['before']} {seasons}|{seasons} {groups['after']})\b")
    yield "month", _compiled(rf"\b(?:{groups['before']} |(?P<prefix>{data['before_month']})[ -])?{groups['month']}(?: {groups['after']}\b)?")
    yield "holiday", _compiled(rf"\b(?:{'|'.join(data['holidays'])})\b")
    for kind in ("ago", "ahead"):
        yield kind, _compiled(rf"\b(?:{'|'.join(filled(form) for form in data[kind])})")
    yield "near", _compiled(rf"\b(?:{'|'.join(sorted(data['near'], key=len, reverse=True))})\b")
    for form in data["habits"]:
        yield "habit", _compiled(rf"\b{filled(form)}(?!\w)")
    for form in data["ordinals"]:
        yield "ordinal", _compiled(rf"(?<![\w.,/:-]){filled(form)}")
    yield "weekday", _compiled(
        rf"\b(?:(?P<the>{data['the']}) |{groups['before']} )?(?P<weekday>{groups['weekdays']})(?:{data['part_of_day']})\b(?: {groups['after']}\b)?"
    )
    unit = "(?P<unit>" + "|".join(data["units"][unit] for unit in ("weekend", "week", "month", "year")) + r")(?!\w)"
    yield "unit", _compiled(rf"\b{groups['before']} {unit}")
    yield "unit", _compiled(rf"\b{unit} {groups['after']}\b")
    yield "year", _compiled(rf"\b(?:(?P<prefix>{data['before_year']}) )?(?P<year>(?:19|20)\d\d)\b(?![-/:%]|[.,]\d)")
    yield "year", _compiled(r"(?<=[a-z] )['’](?P<short>\d\d)\b(?![-/.,:%\d])")


def _figure_rules(code: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the rules for dates in figures, which most languages share."""
    yield "iso_day", _compiled(r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<m>[01]\d)-(?P<d>[0-3]\d)(?!\d)")
    yield "figures", _compiled(
        r"(?<![\d./-])(?P<d>[0-3]?\d)(?P<sign>[./-])(?P<m>[0-3]?\d)(?P=sign)(?P<year>(?:19|20)\d\d)(?![\d]|[./-]\d)"
    )
    yield "iso_month", _compiled(r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\w-])")
    if not code:
        return
    sign = "/" if code == "en" else "[./]"
    yield "figures", _compiled(
        rf"(?<![\w./-])(?P<d>[0-3]?\d)(?P<sign>{sign})(?P<m>[0-3]?\d)(?P=sign)(?P<year>\d\d)(?![\w]|[./-]\d)"
    )
    if code == "de":
        yield "figures", _compiled(rf"(?<![\w.,])(?P<d>{_DAY_NUMBER})\.(?P<m>{_NUMBERED})\.(?P<year>)(?![\d])")
        yield "figures", _compiled(
            rf"(?<=\b(?:am|ab|im) )(?P<d>{_DAY_NUMBER})\.(?P<m>{_NUMBERED})(?P<year>)(?![\w.:,])"
        )
    else:
        lead = {"en": "on|by|due", "es": "el|al|día", "fr": "le|au|du"}[code]
        yield "figures", _compiled(
            rf"\b(?:{lead}) (?P<d>{_DAY_NUMBER})/(?P<m>{_DAY_NUMBER})(?P<year>)(?![\w/]|[.,]\d)"
        )


def _cues(data: Mapping[str, Any]) -> Cues:
    def words(pattern: str) -> re.Pattern[str]:
        return _compiled(rf"(?<!\w)(?:{pattern})(?!\w)")

    tenses = "|".join(f"(?P<{tense}>{data[tense]})" for tense in TENSES if tense in data)
    article = r"(?: (?:the|on|in|dem|den|der|am|im|el|en|le|la|this|diese[nmrs]?|est[ea]|ce|cette|au|al))*"
    return Cues(
        tense=words(tenses),
        auxiliary=words(data["auxiliary"]) if "auxiliary" in data else None,
        backward=_compiled(rf"\b(?:{data['backward']}){article} $"),
        forward=_compiled(rf"\b(?:{data['forward']}){article} $"),
        refuted=_compiled(rf"\b(?:{data['not']}){article} $"),
        ahead_of=_compiled(rf"\b(?:{data['ahead_of']}) $"),
        intended=words(data["intended"]),
        but=words(data["but"]),
        perhaps=words(data["perhaps"]),
        condition=words(data["if"]),
        habit=words(data["habit"]),
        moved=words(data["moved"]),
        cancelled=words(data["cancelled"]),
        refused=_compiled(rf"\W*(?:{data['refused']})\b"),
        slip=_compiled(rf"\W*(?:{data['slip']})\W+(?:[^\W\d]+ ){{0,2}}"),
    )


def _choice(words: Mapping[str, int]) -> Choice:
    return Choice(tuple((_compiled(pattern), number) for pattern, number in words.items()))


def _numbered(words: Sequence[str], first: int) -> Choice:
    return Choice(tuple((_compiled(pattern), number) for number, pattern in enumerate(words, start=first)))


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which a name of a group may stand several times: the second ``day`` becomes ``day_2``."""
    seen: Counter[str] = Counter()

    def renamed(group: re.Match[str]) -> str:
        seen[group[1]] += 1
        return f"(?P<{group[1]}_{seen[group[1]]}>" if seen[group[1]] > 1 else group[0]

    return re.compile(_GROUP.sub(renamed, pattern), re.IGNORECASE)


def part(match: re.Match[str], name: str) -> str:
    """Return what a group matched, wherever it stands in the pattern; empty if it did not match."""
    for group in (name, f"{name}_2", f"{name}_3"):
        if group in match.re.groupindex and match[group]:
            return str(match[group])
    return ""
