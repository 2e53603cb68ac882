"""What a language calls its dates: the words of ``dates.toml`` as compiled patterns, read once for each language."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from resources.offline.date_rules import ANY, ANY_JOINED, FIGURE, LANGUAGES, MONTHS, NAMED_RULES, RULES, YEAR

_FORMS = {
    "days": "days_of_month", "day_of_month": "days_of_month", "ago": "ago", "ahead": "ahead", "habit": "habits",
    "ordinal": "ordinals",
}  # fmt: skip
TENSES = ("arranged", "past", "future", "participle", "present")
_NEEDED = {
    "days": "months", "day_of_month": "months", "nth_weekday": "months", "month_and_year": "months", "month": "months",
    "weekday": "weekdays",
}  # fmt: skip
"""Kinds whose patterns match only where a month or a weekday is named: two short searches save most of their time."""

_UNITS = ("day", "week", "weekend", "month", "year")
_LONGEST_FIRST = ("day", "weekend", "week", "month", "year")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_NAME = re.compile(r"\{([a-z_]+)\}")


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


_AT = r"(?:,? (?:at|um|gegen|a las?|à) \d{1,2}(?:[:.h]\d\d)?(?: ?(?:[ap]\.?m\.?|uhr|h)\b)?)?"
"""A time of the day between two dates that belong together."""

_THROUGH = "al?|ao|até|tot|t/m"
"""Between the ends of a range, in languages of which only the months are known."""

_NONE = Choice(())
_NEVER = re.compile(r"(?!)")


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
        could: So do these words, but not in a question, where they propose it.
        condition: A date after it may never be.
        intended, but: What stands before and after a date that was only wanted.
        today_is: What stands before the weekday of today.
        habit: Weekdays and months of the sentence come again and again.
        weekly: Weekdays of the whole sentence do.
        sure: Verbs of what surely lies ahead; others in ``future`` may speak of every year.
        regular: What takes place every week, on the weekday of the sentence.
        yearly: Days of the sentence do every year, unless it tells of one year.
        born: They are those of a birth, in a year long ago.
        early: What was planned happens on another day.
        moved: The sentence names a new date for an old one.
        instead: It does so for one that was named just before.
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
    could: re.Pattern[str]
    condition: re.Pattern[str]
    intended: re.Pattern[str]
    but: re.Pattern[str]
    today_is: re.Pattern[str]
    habit: re.Pattern[str]
    weekly: re.Pattern[str]
    sure: re.Pattern[str]
    regular: re.Pattern[str]
    yearly: re.Pattern[str]
    born: re.Pattern[str]
    moved: re.Pattern[str]
    early: re.Pattern[str]
    instead: re.Pattern[str]
    cancelled: re.Pattern[str]
    refused: re.Pattern[str]
    slip: re.Pattern[str]


class Rule(NamedTuple):
    """A kind of date and its pattern, which matches only in texts that have what it ``needs``; None needs nothing."""

    kind: str
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class DateWords:
    """The words of one language.

    Attributes:
        hint: A sentence without it has no date.
        rules: The patterns of dates, longer and more certain forms first.
        relative: Words for the one before last (-2), last (-1), this (0), next (1) and the one after (2), and for one
            of last week (-3) or next week (3).
        nth: Words for first (1) to fourth, and last (-1).
        weekday: A full name of a weekday.
        units: ``day`` 0, ``week`` 1, ``weekend`` 2, ``month`` 3, ``year`` 4.
        within: The preposition of a month in which something happens, once or again and again.
        doubtful: Names of months that are ordinary words too.
        items: The parts of a list of days.
        either: The words between two dates of which one is to be chosen.
        listed: The words between two dates of one list.
        since: The words before a range.
        between: The words between the ends of a range of days.
        part_of_day: What follows a weekday or ``yesterday``, such as ``evening``; it may be empty.
        ends_at_number: Whether a sentence may end with a figure and a full stop; in German that is an ordinal.
    """

    code: str
    hint: re.Pattern[str]
    rules: tuple[Rule, ...]
    months: Choice = _NONE
    weekdays: Choice = _NONE
    near: Choice = _NONE
    counts: Choice = _NONE
    nth: Choice = _NONE
    relative: Choice = _NONE
    units: Choice = _NONE
    holidays: Mapping[str, str] = field(default_factory=dict)
    weekday: re.Pattern[str] = _NEVER
    within: re.Pattern[str] = _NEVER
    doubtful: re.Pattern[str] = _NEVER
    items: re.Pattern[str] = _NEVER
    either: re.Pattern[str] = _NEVER
    listed: re.Pattern[str] = _NEVER
    since: re.Pattern[str] = _NEVER
    between: re.Pattern[str] = _NEVER
    part_of_day: re.Pattern[str] = _NEVER
    cues: Cues | None = None
    ends_at_number: bool = True


@cache
def date_words(code: str) -> DateWords:
    """Return the words of a language, by its code of two letters; for an unknown one only figures are dates."""
    data = tomllib.loads(files(__package__).joinpath("dates.toml").read_text(encoding="utf-8"))
    return _words(code, data[code]) if code in LANGUAGES else _figures(code)


def _figures(code: str) -> DateWords:
    """Return the rules for a language of which no words are known, or only those for months."""
    groups = {"year": YEAR, "figure": FIGURE, "before_figure": ANY_JOINED, "joined": ANY_JOINED}
    rules = [Rule(kind, _compiled(_filled(pattern, groups))) for kind, languages, pattern in RULES if languages == ANY]
    if code not in MONTHS:
        return DateWords(code, re.compile(r"\d"), tuple(rules), between=_compiled(ANY_JOINED))
    months = MONTHS[code].split()
    groups |= {
        "month": rf"(?P<month>{'|'.join('|'.join(_dotted(names)) for names in months)})(?!\w)",
        "day_number": r"(?<![\d.,:/])(?:3[01]|[12]\d|0?[1-9])(?!\d)",
        "sign": r"[°º.]?",
        "of": r" (?:d[ie]l? )?",
    }
    rules += [Rule(kind, _compiled(_filled(pattern, groups))) for kind, pattern in NAMED_RULES]
    return DateWords(
        code,
        re.compile(r"\d"),
        tuple(rules),
        months=_numbered([f"(?:{names})" for names in months], 1),
        items=_compiled(
            rf"(?P<through>[–-]|\b(?:{_THROUGH})\b)|(?P<and>[,&/+]|\b(?:ed?|en)\b)|(?<!\d)(?P<number>\d{{1,2}})(?!\d)"
        ),
        listed=_compiled(r",? (?:ed?|en) (?:[^\W\d]{2,3} ){0,2}|, "),
        between=_compiled(rf"{ANY_JOINED}| ?(?:{_THROUGH}) "),
    )


def _words(code: str, data: Mapping[str, Any]) -> DateWords:
    groups = _groups(data)
    return DateWords(
        code=code,
        hint=_hint(data),
        rules=tuple(_rules(code, data, groups)),
        months=_numbered(data["months"], 1),
        weekdays=_numbered(
            [f"(?:{long}|{short})" for long, short in zip(data["weekdays"], data["short_weekdays"], strict=True)], 0
        ),
        near=_choice(data["near"]),
        counts=_numbered(data["counts"], 1),
        nth=_choice(data["nth"]),
        relative=_choice(data["before"] | {f"{words}": number for words, number in data["after"].items()}),
        units=_numbered([data["units"][unit] for unit in _UNITS], 0),
        holidays=data["holidays"],
        weekday=_compiled("|".join(data["weekdays"])),
        within=_compiled(data["within"]),
        doubtful=_compiled(f"(?:{data['doubtful_months']})[.]?"),
        items=_items(data, groups),
        either=_compiled(rf",? (?:{data['or']}) (?:[^\W\d]{{2,4}} ){{0,2}}"),
        listed=_compiled(rf"{_AT}(?:,? (?:{data['and']}) (?:[^\W\d]{{2,3}} ){{0,2}}|, )"),
        since=_compiled(rf"\b(?:{data['from']})\s*$"),
        between=_compiled(rf"{_AT}(?:\s*[–-]\s*|,? (?:{data['through']})(?: [^\W\d]+){{0,2}} ?)"),
        part_of_day=_compiled(data["part_of_day"]),
        cues=_cues(data, groups),
        ends_at_number=code != "de",
    )


def _items(data: Mapping[str, Any], groups: Mapping[str, str]) -> re.Pattern[str]:
    named = rf"(?P<weekday>{groups['weekdays']}|{'|'.join(data['short_weekdays'])})\b"
    through = rf"(?P<through>[–-]|\b(?:{data['through']})\b)"
    joined = rf"(?P<and>[,&/+]|\b(?:{data['and']})\b)"
    return _compiled(rf"{through}|{joined}|\b{named}|(?<!\d)(?P<number>\d{{1,2}})(?!\d)")


def _hint(data: Mapping[str, Any]) -> re.Pattern[str]:
    words = [*data["months"], *data["weekdays"], *data["near"], *data["holidays"], *data["units"].values()]
    return _compiled(rf"\d|\b(?:{'|'.join(words)})")


def _groups(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what the names in braces stand for: the words of the language, and groups made of them."""
    weekdays = "|".join(data["weekdays"])
    short = "|".join(f"{word}[.]?" for word in data["short_weekdays"])
    before, after = ("|".join(data[where]) for where in ("before", "after"))
    units = {unit: data["units"][unit] for unit in _LONGEST_FIRST}
    return {name: words for name, words in data.items() if isinstance(words, str)} | {
        "weekdays": weekdays,
        "weekday": f"(?:{weekdays})",
        "any_weekday": f"(?P<named>{weekdays}|{short})",
        "month": f"(?P<month>{'|'.join('|'.join(_dotted(names)) for names in data['months'])})(?!\\w)",
        "year": YEAR,
        "before": f"(?P<before>{before})",
        "after": f"(?P<after>{after})",
        "nth": f"(?P<nth>{'|'.join(data['nth'])})",
        "count": rf"(?P<count>\d{{1,3}}|{'|'.join(reversed(data['counts']))})",
        "unit": f"(?P<unit>{'|'.join(units.values())})(?!\\w)",
        "longer_unit": f"(?P<unit>{'|'.join(units[unit] for unit in _LONGEST_FIRST[1:])})(?!\\w)",
        "holidays": "|".join(data["holidays"]),
        "near": "|".join(sorted(data["near"], key=len, reverse=True)),
        "of_year": f"(?:{data['of_year']})?",
        "day_number": r"(?:3[01]|[12]\d|0?[1-9])",
        "month_number": r"(?:1[0-2]|0?[1-9])",
        "any_month": f"(?:{'|'.join('|'.join(_dotted(names)) for names in data['months'])})(?!\\w)",
        "joined": rf"(?: ?[–-] ?|(?<=\.) ?[/+] ?|,? (?:{data['through']}|{data['and']}) )",
        "listed_by": "(?:{joined}|, )",
        "on_the": rf"(?:(?:{data['on']}) )?{data['article']}(?:(?:{weekdays}|{short}),? {data['article']})?",
        "item": r"{on_the}{day_number}(?!\d){ordinal_sign}",
        "item_ends": r"(?!\w|%| ?[ap]\.?m\b|[:.,]\d|(?: of)? {any_month})"
        r"(?:(?<=[a-z])|(?<=[–-]\d)|(?<=[–-]\d\d)|(?=,? \d{4})|{ends})",
        "before_figure": "{joined}{on_the}",
        "figure": FIGURE,
        "list": rf"(?:(?:,? (?:{data['and']})|,) (?:{weekdays})s?\b)*",
        "ends": rf"(?=\s*(?:[^\w\s]|$)|\s+(?:{data['ordinal_ends']})\b)",
    }


def _dotted(names: str) -> Iterator[str]:
    """Yield a month's names; its abbreviations may end with a full stop."""
    for number, name in enumerate(names.split("|")):
        yield name if number == 0 else f"{name}[.]?"


def _rules(code: str, data: Mapping[str, Any], groups: Mapping[str, str]) -> Iterator[Rule]:
    """Yield the patterns of a language: of a rule with ``{form}`` one for each of the forms that the language has."""
    needed = {name: _compiled("|".join(data[name])) for name in _NEEDED.values()}
    for kind, languages, pattern in RULES:
        if not languages or languages == ANY or code in languages.split():
            for form in _forms(kind, data) if "{form}" in pattern else [""]:
                needs = needed[_NEEDED[kind]] if kind in _NEEDED else None
                # Dates begin with a letter or a digit: at the ends of words, nothing else needs to be tried.
                begun = rf"\b(?=\w){pattern[2:]}" if pattern.startswith(r"\b") else pattern
                yield Rule(kind, _compiled(_filled(begun.replace("{form}", form), groups)), needs)


def _forms(kind: str, data: Mapping[str, Any]) -> list[str]:
    """Return the forms of a kind that a language has; those of a list of days end with the month."""
    return [form for form in data[_FORMS[kind]] if kind != "days" or not form.startswith("{month}")]


def _filled(pattern: str, groups: Mapping[str, str]) -> str:
    """Put patterns in the place of their names until there is none left."""
    filled = _NAME.sub(lambda name: groups[name[1]], pattern)
    return filled if filled == pattern else _filled(filled, groups)


def _cues(data: Mapping[str, Any], groups: Mapping[str, str]) -> Cues:
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
        could=words(data["could"]),
        condition=words(data["if"]),
        today_is=_compiled(rf"\W*(?:(?:{data['today_is']}) )?"),
        habit=words(_filled(data["habit"], groups)),
        weekly=words(data["weekly"]),
        sure=words(data["sure"]),
        regular=words(data["regular"]),
        yearly=words(data["yearly"]),
        born=words(data["born"]),
        early=words(data["early"]),
        moved=words(data["moved"]),
        instead=words(data["instead"]),
        cancelled=words(data["cancelled"]),
        refused=_compiled(rf"\W*(?:{data['refused']})\b"),
        slip=_compiled(rf"\W*(?:{data['slip']})(?:\W+(?:{data['slip']}))?\W+(?:[^\W\d]+ ){{0,2}}"),
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
    """Return the text that a group matched anywhere in the pattern; empty if the group did not match."""
    for group in (name, f"{name}_2", f"{name}_3"):
        if group in match.re.groupindex and match[group]:
            return str(match[group])
    return ""
