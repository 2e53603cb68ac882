"""Whether a sentence has the kind of thing that a question asks for. Linear for sentences of bounded length."""

from __future__ import annotations

import re

from neurigraph_pipelines.text.calendar_words import MONTHS_SHORT, SEASONS
from resources.offline.lexicon import forms
from resources.offline.questions import (
    LISTS,
    UNCHECKED,
    WORD,
    Asked,
    Kind,
    Trust,
    Words,
    any_of,
    asks_for_several,
)
from resources.offline.sentence_language import language_of_short

_FORMS = forms("fitting")

BESIDE = 3
"""Most words between a name and its bearer."""

BARE = 0.6
"""How well a number without a unit fits a question for an amount, a vague time one for a time, or a denial one for what
is not allowed."""

COUNTED = 0.5
"""How well a number fits a question for a count of something that does not follow it."""

LIKELY = 0.7
"""How well a name fits that only stands beside the thing to be named."""

# Words of months and seasons that are others more often.
_AMBIGUOUS = ("may", "mar", "dec", "fall")

_NAMED_DAYS = f"{LISTS['dates']['weekdays']} {LISTS['dates']['months']}".split()
_CALENDAR = (word for words in (_NAMED_DAYS, MONTHS_SHORT, SEASONS) for word in words if word not in _AMBIGUOUS)
_DATE_WORDS = "|".join((*sorted(_CALENDAR, key=len, reverse=True), any_of(LISTS["dates"]["words"])))
_DATE = re.compile(
    r"\b(?:"
    rf"(?:\d{{1,2}}\.? (?:of |de |to |bis |a |al )?){{0,3}}(?:{_DATE_WORDS})s?"
    r"(?:,? (?:den |the )?\d{1,2}\b(?![.,:]\d))?"
    r"|May|\d{1,2}(?:st|nd|rd|th)|(?:1[5-9]|20)\d\d(?!\d)|(?:am|dem|den|vom|zum|der) \d{1,2}\.?"
    r"|(?:at|um|a las?|alle|all'|às|om|à) \d{1,2}(?![\w%]|[.,:]\d|\s?[€$£])"
    r"|\d{1,2}:\d\d|\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|uhr|uur|h)"
    r"|(?:last|next|this|past|nächste\w?|letzte\w?|seit|vor|since|el próximo|la próxima|hace|desde) (?:\w+ ){0,2}"
    r"(?:week|month|year|night|day|woche|monat|jahr|tag|semana|mes|año|día)\w{0,2}"
    r"|(?:\d+|a|an|two|three|four|five|six|few|couple of) (?:day|week|month|year)s? (?:ago|later|back)"
    r")(?!\w)",
    re.I,
)
_VAGUE = re.compile(
    rf"\b(?:{any_of(LISTS['dates']['vague'])}|\d{{1,2}}[:.]\d\d|(?:every|jeden|jede|cada) \w+|\w+days)\b", re.I
)
_SET_DATE = re.compile(rf"\b(?:{any_of(LISTS['dates']['cues'])})\b", re.I)
_NUMERAL = rf"(?:\d+(?:[.,:/]\d+)*|{any_of(LISTS['numbers']['words'])})"
_NUMBER = re.compile(rf"(?<!\w){_NUMERAL}(?!\w)", re.I)
_MONEY = re.compile(
    rf"[€$£¥₹]\s?\d|\d\s?[€£¥₹$]|(?<!\w){_NUMERAL}(?:[.,]-+)?\s?(?:{any_of(LISTS['numbers']['currencies'])}|"
    r"(?:a|per|pro|por|al|im) \w+)(?!\w)",
    re.I,
)
_UNITS = {
    name: re.compile(rf"(?<!\w){_NUMERAL}\s?-?(?:{any_of(units)})(?!\w)", re.I)
    for name, units in LISTS["units"].items()
}
_MEASURED = re.compile("|".join((_MONEY.pattern, *(unit.pattern for unit in _UNITS.values()))), re.I)
_NO_COUNTS = frozenset(LISTS["numbers"]["no_counts"].split())
_NO_PLACES = {"en": frozenset("a am ad te em no na".split()), "es": frozenset(("no", "te")), "fr": frozenset(("te",))}
"""Words that stand before places in other languages only: "Voy a Bilbao", "am Bahnhof", "no Porto"."""

_KIN = re.compile(rf"\b(?:{any_of(LISTS['people']['whose'])}) (?:\w+ )?(?:{any_of(LISTS['people']['kin'])})\b", re.I)
_FORBIDS = re.compile(
    rf"\b(?:{any_of(LISTS['limits']['words'])}|(?:must|may|should) not)\b"
    r"|(?:^|[,;:.–]\s*|\b(?:and|und|y|et) )(?:no|keine?n?|sin|pas de) [^\W\d]",
    re.I,
)
_DENIES = re.compile(rf"\b(?:{any_of(LISTS['limits']['denials'])})\b|n['’]t\b", re.I)
_NO_NAME = ("ing", "ly")
_AFTER_NAME = re.compile(rf",|['’]s\b|\s(?:{any_of(LISTS['people']['after_name'])})\b|\s[A-Z]|\s[a-z]{{2,}}(?:s|ed)\b")


def fit(asked: Asked, text: str, words: Words, people: frozenset[str]) -> float:
    """Return how well a sentence has the asked-for kind of value: 1 if it has it, 0 if not, between for a similar one.

    Args:
        people: Lexemes of what may be names of people.
    """
    kinds = [kind for kind in asked.kinds if kind not in UNCHECKED]
    return sum(_fit(kind, asked, text, words, people) for kind in kinds) / len(kinds) if kinds else 1.0


def sets_date(asked: Asked, text: str) -> bool:
    """Return whether a time is asked for, and a sentence says that it gives a date: "the deadline is the 4th"."""
    return Kind.WHEN in asked.kinds and _SET_DATE.search(text) is not None and bool(values(asked, text))


def values(asked: Asked, text: str) -> frozenset[str]:
    """Return the dates or the numbers of a text that the question does not name, if it asks for such."""
    if Kind.WHEN in asked.kinds:
        plain, pattern = _VAGUE.sub(" ", text), _DATE
    elif asked.trust is Trust.STRICT and Kind.NAME not in asked.kinds:
        plain, pattern = _DATE.sub(" ", text), _NUMBER
    elif asked.kinds == (Kind.OTHER,) and not asks_for_several(asked.text):  # of a choice: "PostgreSQL 16", "Teams"
        plain, pattern = _DATE.sub(" ", text), _FORMS.choice
    else:
        return frozenset()
    return frozenset(
        found for match in pattern.finditer(plain) if (found := match.group().casefold()) not in asked.text
    )


def is_date_or_number(word: str) -> bool:
    """Return whether a word is a number, or a day, month or other word of dates."""
    return word.isdigit() or _NUMBER.fullmatch(word) is not None or _DATE.fullmatch(word) is not None


def names_in(text: str, words: Words, ordinary: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the lexemes of capitalised words within sentences, and of those that begin one as names do.

    Args:
        ordinary: Words that also stand without a capital, and so are no names at the beginning of a sentence.
    """
    return frozenset(
        lexeme
        for match in _FORMS.capital.finditer(text)
        if (match.start() and text[max(0, match.start() - 2)] not in ".!?") or _opens(match, words, ordinary)
        for lexeme in _name(match, words)
    )


def uncapitalised(text: str) -> frozenset[str]:
    """Return the words of a text that stand without a capital."""
    return frozenset(word for word in WORD.findall(text) if word[0].islower())


def _opens(match: re.Match[str], words: Words, ordinary: frozenset[str]) -> bool:
    """Return whether a word at the beginning of a sentence seems to be a name."""
    word = match.group().lower()
    return (
        words.has_names
        and word not in ordinary
        and word not in words.ordinary
        and not word.endswith(_NO_NAME)
        and _AFTER_NAME.match(match.string, match.end()) is not None
    )


def _fit(kind: Kind, asked: Asked, text: str, words: Words, people: frozenset[str]) -> float:
    match kind:
        case Kind.WHEN:
            return 1.0 if values(asked, text) else BARE * bool(_VAGUE.search(text))
        case Kind.MONEY:
            return 1.0 if _MONEY.search(text) else BARE * _has_figure(text, words)
        case Kind.MEASURE:
            return _measured(asked, text, words)
        case Kind.COUNT:
            return _counted(asked, text, words)
        case Kind.WHO:
            return 1.0 if _has_person(asked, text, words, people) else BARE * bool(_KIN.search(text))
        case Kind.WHERE:
            return _placed(text, words)
        case Kind.NAME:
            return _named(asked, text, words)
        case Kind.LIMIT:
            return 1.0 if _FORBIDS.search(text) else BARE * bool(_DENIES.search(text))
        case Kind.NUMBER:
            return float(bool(_FORMS.digits.search(_DATE.sub(" ", text))))
        case _:
            return 1.0


def _placed(text: str, words: Words) -> float:
    found = list(_FORMS.place.finditer(text))
    if any(match.group().split()[0].lower() in _NO_PLACES["en"] for match in found):
        others = _NO_PLACES.get(language_of_short(text, words.language), frozenset())
        found = [match for match in found if match.group().split()[0].lower() not in others]
    starts = (match.start(match.lastgroup or 0) for match in found)
    places = [text[start].isupper() for start in starts if not _DATE.match(text, start)]
    return (1.0 if any(places) else BARE) if places else 0.0


def _has_person(asked: Asked, text: str, words: Words, people: frozenset[str]) -> bool:
    """Return whether a person is named: one of ``people``, or who does what the question says."""
    for match in _FORMS.capital.finditer(text):
        name = _name(match, words) - asked.anchors
        if name & people or (name and not match.start() and _does(asked, match, words)):
            return True
    return False


def _does(asked: Asked, match: re.Match[str], words: Words) -> bool:
    """Return whether the first word with a meaning after a word that begins a sentence is one of the question."""
    if match.group().lower() in words.ordinary:
        return False
    following = (frozenset(words.lexemes(word)) for word in WORD.findall(match.string, match.end()))
    return not asked.anchors.isdisjoint(next(filter(None, following), ()))


def _has_figure(text: str, words: Words) -> bool:
    """Return whether there is a number in digits that is no date, clock or measure, and counts nothing."""
    if _FORMS.digit.search(text) is None:
        return False
    plain = _DATE.sub(" ", text)
    for unit in _UNITS.values():
        plain = unit.sub(" ", plain)
    return any(_stands_alone(plain, figure.end(), words) for figure in _FORMS.figure.finditer(plain))


def _stands_alone(text: str, end: int, words: Words) -> bool:
    """Return whether no noun follows a number, as far as its form shows: a plural, or in German a capital."""
    following = _FORMS.next.match(text, end)
    if following is None or not words.lexemes(following[1]):
        return True
    return not (following[1].endswith("s") if words.has_names else following[1][0].isupper())


def _measured(asked: Asked, text: str, words: Words) -> float:
    if "often" in asked.dimensions and _FORMS.often.search(text):
        return 1.0
    names = [name for name in asked.dimensions if name in _UNITS] or list(_UNITS)
    if any(_UNITS[name].search(text) for name in names):
        return 1.0
    if (not asked.dimensions or "money" in asked.dimensions) and _MONEY.search(text):
        return 1.0
    plain = _DATE.sub(" ", text)
    return BARE * any(_stands_alone(plain, figure.end(), words) for figure in _FORMS.figure.finditer(plain))


def _counted(asked: Asked, text: str, words: Words) -> float:
    plain = _DATE.sub(" ", text)
    best = 0.0
    for number in _NUMBER.finditer(plain):
        following = plain[number.end() : number.end() + 40].split()[:2]
        if asked.focus.intersection(words.lexemes(" ".join(following))):
            return 1.0
        is_alone = number.group().lower() not in _NO_COUNTS and _stands_alone(plain, number.end(), words)
        if is_alone and not _MEASURED.match(plain, number.start()):
            best = COUNTED
    return best


def _named(asked: Asked, text: str, words: Words) -> float:
    """Return whether a name stands beside the thing to be named, or a word says that something is named."""
    read = [(match.group(), frozenset(words.lexemes(match.group()))) for match in WORD.finditer(text)]
    places = [place for place, (_, lexemes) in enumerate(read) if lexemes & asked.anchors]
    is_said = bool(_FORMS.named.search(text))
    for place, (word, lexemes) in enumerate(read):
        if not place or not word[0].isupper() or not lexemes or lexemes & asked.anchors or _DATE.fullmatch(word):
            continue
        if is_said:
            return 1.0
        if words.has_names and any(abs(place - other) <= BESIDE for other in places):
            return LIKELY
    return 0.0


def _name(match: re.Match[str], words: Words) -> frozenset[str]:
    return frozenset() if _DATE.fullmatch(match.group()) else frozenset(words.lexemes(match.group()))
