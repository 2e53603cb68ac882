"""Assertions of one speaker that can conflict: things never done and things done, and figures of things.

English only, and every expression is linear. Which statements are compared is decided in ``knowledge``; what follows
from two of them, in ``resources.offline``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from neurigraph_pipelines.text.lexemes import lexer_of

LEAST_DENIED = 2
"""Least number of words of a denial that the other statement has, too."""

_LEXER = lexer_of("english")
_CLAUSE_END = re.compile(r"[;()\"“”]|,(?!\d)|:\s|\s[-–—]\s|\b(?:but|although|though|which|because|while)\b", re.I)
_SPEAKER = re.compile(r'^\w+: "')
_THE_USER = re.compile(r"\bthe user(?P<owns>['’]s)?(?!\w)", re.I)
_DENIAL = re.compile(r"\b(?:never|(?:has|have|had|did)(?:n['’]t| not)|do(?:es)?(?:n['’]t| not) (?:have|own))\b", re.I)
_INTENDED = re.compile(
    r"\b(?:want(?:s|ed)? to|need(?:s|ed)? to|plan(?:s|ning|ned)? (?:to|on)|going to|gonna|trying to|would|could|should|"
    r"might|may|will|if|whether|hop(?:e|es|ing)|consider(?:s|ing)?|wonder(?:s|ing)?|think(?:s|ing)? (?:of|about)|"
    r"how (?:to|do|does|can)|help|let me|suppose)\b|['’]ll\b",
    re.I,
)
_DONE = re.compile(
    r"\b(?:have|has|had|just|already|recently|currently|now|\w{2,40}ed|bought|met|went|got|made|took|spent|found|began|"
    r"built|wrote|won|lost|sold|paid|saw|ran|gave|did|was|were|chose|came|felt|kept|left|read|told|thought|brought)\b"
    r"|['’]ve\b",
    re.I,
)
_OWN = re.compile(r"\b(?:my|our)\b", re.I)
_CHANGE = re.compile(
    r"\b(?:now|recently|increas(?:e|es|ed|ing)|decreas(?:e|es|ed|ing)|improv(?:e|es|ed|ing)|reduc(?:e|es|ed|ing)|"
    r"extend(?:s|ed|ing)?|shorten(?:s|ed|ing)?|rais(?:e|es|ed|ing)|lower(?:s|ed|ing)?|updat(?:e|es|ed|ing)|"
    r"chang(?:e|es|ed|ing)|reschedul(?:e|es|ed|ing)|postpon(?:e|es|ed|ing)|moved|switched|new|dropped|grew|grown|rose|"
    r"risen|gone (?:up|down)|boosted|cut|instead|no longer|(?:up|down) to|revised|adjusted)\b",
    re.I,
)
_FIGURE = re.compile(
    r"(?<![\w.,:/$€£-])(?P<sign>[$€£])?(?P<digits>\d{1,3}(?:,\d{3}){1,4}|\d{1,12}(?:[.:]\d{1,4})?)(?![\d/])"
    r"(?:\s?(?P<unit>%|percent\b|[ap]m\b|[ap]\.m\.))?(?P<after>(?:\s[A-Za-z][\w'’-]{0,30}){0,3})",
    re.I,
)
_NO_LEVEL = re.compile(
    r"\b(?:by|at least|at most|goal of|target of|under|over|within|past|last|next|another|extra|from)"
    r"\s(?:about |around |the )?$",
    re.I,
)
"""Words before a figure that is a difference, a bound, a goal or a beginning: it says nothing of how things are."""

_NO_LEVEL_WITHIN = 24
"""Characters before a figure in which they stand."""

_SPANS = frozenset("day week month year".split())
_ENDS_OF_PHRASES = frozenset(
    "a about after an and are as at be been before but by can due during each every for from had has have i if in "
    "including into involving is it its my of on or our out over per since so specifically than that the their then "
    "this to today total under until using was we were what when where who with within".split()
)
_DETERMINERS = frozenset("a an any another my our the this".split())
_MONTHS = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep oct nov dec".split()
)
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_WORDS_BEFORE = 4
"""Words before a figure that name its measure."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that says how things are.

    Attributes:
        unit: ``%``, ``$``, ``€``, ``£``, ``clock``, or the lexeme of what is counted.
        kinds: The lexemes between the figure and what it counts: of ``8 coin toss problems``, ``coin`` and ``toss``.
        beside: The lexemes around it, without its unit.
        is_changed: Whether its clause says that something changed.
    """

    unit: str
    value: str
    kinds: frozenset[str]
    beside: frozenset[str]
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Assertions:
    """The claim of a statement.

    Attributes:
        words: Its lexemes, without numbers; so are those below.
        done: Those of each clause that says that something was done or is there, in order.
    """

    words: frozenset[str]
    denied: tuple[Denial, ...]
    done: tuple[tuple[str, ...], ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How a later statement differs from an earlier one of the same speaker.

    Attributes:
        is_denial: Whether one denies what the other says was done; else it gives another figure.
        shared: The lexemes that say that both are about the same.
        of: The lexemes of the denial, or of the statement with fewer lexemes.
        is_named: Whether the same word stands beside both figures; True for a denial.
        is_spoken_of: Whether a word beside one of the figures stands in the other statement, too.
        is_whole: Whether what is denied stands in the other statement word for word, such as ``coin toss problems``.
    """

    is_denial: bool
    shared: frozenset[str]
    of: frozenset[str]
    is_named: bool = True
    is_spoken_of: bool = True
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Denial:
    """A clause that denies something.

    Attributes:
        words: Its lexemes behind the denial.
        thing: The lexemes of what was not done: of ``never solved any coin toss problems``, all but ``solv``.
    """

    words: frozenset[str]
    thing: tuple[str, ...]


@lru_cache(maxsize=20_000)
def assertions_of(statement: str) -> Assertions:
    """Return the denials, deeds and measures in a statement of somebody about their own life."""
    text = _THE_USER.sub(lambda match: "my" if match["owns"] else "I", _SPEAKER.sub("", statement))
    denied: list[Denial] = []
    done: list[tuple[str, ...]] = []
    measures: list[Measure] = []
    for clause in filter(str.strip, _CLAUSE_END.split(text)):
        denial = _DENIAL.search(clause)
        if denial is not None:
            behind = clause[denial.end() :]
            denied.append(Denial(_lexemes(behind), _thing(behind)))
            continue
        is_own, is_intended = _OWN.search(clause) is not None, _INTENDED.search(clause) is not None
        found = [one for one in _measures(clause) if is_own or not is_intended or one.unit == "clock"]
        measures += found
        if (is_own and found) or (not is_intended and _DONE.search(clause)):
            done.append(_in_order(clause))
    return Assertions(_lexemes(text), tuple(denied), tuple(done), tuple(measures))


def differences(later: str, earlier: str) -> Iterator[Difference]:
    """Yield how a later statement may be at odds with an earlier one of the same speaker."""
    new, old = assertions_of(later), assertions_of(earlier)
    for denial in new.denied:
        for done in old.done:
            if len(shared := denial.words & frozenset(done)) >= LEAST_DENIED:
                yield Difference(True, shared, denial.words, is_whole=_stands_in(denial.thing, done))
    fewer = min(new.words, old.words, key=len)
    for one in new.measures:
        for other in old.measures if one.is_changed else ():
            if _is_of_one_thing(one, other, new, old):
                shared = (new.words & old.words) - {one.unit}
                is_named = bool(one.beside & other.beside)
                is_spoken_of = bool((one.beside & old.words) | (other.beside & new.words))
                yield Difference(False, shared, fewer, is_named, is_spoken_of)


def _is_of_one_thing(one: Measure, other: Measure, new: Assertions, old: Assertions) -> bool:
    """Whether a figure may stand for what another one measured: of the same unit and kind, with another value."""
    if one.unit != other.unit or one.value == other.value:
        return False
    if not (one.kinds <= old.words and other.kinds <= new.words):
        return False
    return bool(one.beside & other.beside) or one.unit not in ("$", "€", "£")


def _measures(clause: str) -> Iterator[Measure]:
    is_changed = _CHANGE.search(clause) is not None
    for match in _FIGURE.finditer(clause):
        if _NO_LEVEL.search(clause, max(0, match.start() - _NO_LEVEL_WITHIN), match.start()):
            continue
        phrase = _phrase(match["after"].split())
        unit, kinds = _unit(match, phrase)
        if unit is None or unit in _SPANS:
            continue
        before = " ".join(_WORD.findall(clause[: match.start()])[-_WORDS_BEFORE:])
        value = match["digits"].replace(",", "") + ((match["unit"] or "")[:1].lower() if unit == "clock" else "")
        yield Measure(unit, value, kinds, (_lexemes(before) | _lexemes(" ".join(phrase))) - {unit}, is_changed)


def _unit(match: re.Match[str], phrase: list[str]) -> tuple[str | None, frozenset[str]]:
    """Return the unit of a figure with its kinds; None if it has none, such as a day of a month."""
    named = (match["unit"] or "").lower()
    if match["sign"]:
        return match["sign"], frozenset()
    if named:
        return ("%" if named in ("%", "percent") else "clock"), frozenset()
    if not phrase or phrase[-1].lower() in _MONTHS:
        return None, frozenset()
    return next(iter(_LEXER.lexemes(phrase[-1])), None), _lexemes(" ".join(phrase[:-1]))


def _phrase(words: list[str]) -> list[str]:
    """Return the words up to the first that no noun phrase goes on with."""
    ends = (place for place, word in enumerate(words) if word.lower() in _ENDS_OF_PHRASES)
    return words[: next(ends, len(words))]


def _thing(behind: str) -> tuple[str, ...]:
    """Return the lexemes of the noun phrase behind a verb."""
    words = behind.split()[1:]
    while words and words[0].lower() in _DETERMINERS:
        del words[0]
    return _in_order(" ".join(_phrase(words)))


def _stands_in(thing: tuple[str, ...], done: tuple[str, ...]) -> bool:
    """Whether a thing of several words stands in a clause word for word."""
    size = len(thing)
    return size >= LEAST_DENIED and any(done[start : start + size] == thing for start in range(len(done) - size + 1))


def _in_order(text: str) -> tuple[str, ...]:
    return tuple(one for one in _LEXER.lexemes(text) if not one[0].isdigit())


def _lexemes(text: str) -> frozenset[str]:
    return frozenset(_in_order(text))
