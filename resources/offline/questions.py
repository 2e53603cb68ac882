"""The kind of answer that a question asks for: a time, an amount, a person, a place.

Closed classes of words of four languages, in ``asking.toml``. ``fitting`` says whether a sentence has such a thing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile

from neurigraph_pipelines.text.languages import STEMMERS
from neurigraph_pipelines.text.lexemes import Lexer
from resources.offline.lexicon import forms, lexicon_of
from resources.offline.sentence_language import language_of_short

_FORMS = forms("questions")


class Kind(Enum):
    """The kind of answer that a question wants."""

    WHEN = "when"
    MONEY = "money"
    COUNT = "count"
    MEASURE = "measure"
    WHO = "who"
    WHERE = "where"
    NAME = "name"
    NUMBER = "number"
    LIMIT = "limit"
    YES_NO = "yes or no"
    OTHER = "other"


class Trust(Enum):
    """How surely a sentence shows that it answers: by an amount or name, by a time, person or place, or not at all."""

    STRICT = "strict"
    LOOSE = "loose"
    NONE = "none"


UNCHECKED = frozenset({Kind.OTHER, Kind.YES_NO})
_OPEN = UNCHECKED | {Kind.LIMIT}
"""What sentences without any sign of it may answer: "Ibuprofen gives me a rash" says what not to take."""

_STRICT = frozenset({Kind.MONEY, Kind.COUNT, Kind.MEASURE, Kind.NAME, Kind.NUMBER})
_AMOUNT = ("weight", "money", "other")

LISTS: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath("asking.toml").read_text(encoding="utf-8"))

WORD = _FORMS.word


def any_of(words: str) -> str:
    """Return a pattern of any of these words; any ending may follow a word that begins with ``~``."""
    return "|".join(re.escape(word.removeprefix("~")) + (r"\w*" if word[0] == "~" else "") for word in words.split())


_ASKING = {name: frozenset(words.split()) for name, words in LISTS["asking"].items()}
_BY_WORD = {word: kind for kind in Kind for word in _ASKING.get(kind.value, ())}
_BY_NOUN = {noun: Kind(name) for name, nouns in LISTS["nouns"].items() for noun in nouns.split()}
_BY_SIZE = {word: tuple(units.split()) for words, units in LISTS["sizes"].items() for word in words.split()}
_GRAMMAR = {name: frozenset(words.split()) for name, words in LISTS["grammar"].items()}
_MONEY = re.compile(rf"\b(?:{any_of(LISTS['grammar']['money'])})\b")
_COSTS = re.compile(rf"\b(?:{any_of(LISTS['grammar']['costs'])})\b")


ASKS = ("?", "？")
"""How a question ends."""


def asks_for_all(question: str) -> bool:
    """Return whether a question asks for everything, or for a summary."""
    return _FORMS.all.search(question) is not None


def asks_for_several(question: str) -> bool:
    """Return whether a question asks for several things: a list, or a plural."""
    return _FORMS.several.search(question) is not None


_HOMOGRAPHS = frozenset({"was", "dove", "come", "como"})
"""Words that ask in one language and are others in another one."""

LEAST_STEM = 6
"""Letters at the beginning that words of one family share, such as *supplies* and *supplier*."""

MOST_ENDING = 3
"""Letters that such words may have after their common beginning."""


def families(anchors: frozenset[str], lexemes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return, for each lexeme of the family of an anchor, the anchors of its family."""
    by_stem: dict[str, set[str]] = {}
    for anchor in anchors:
        by_stem.setdefault(anchor[:LEAST_STEM], set()).add(anchor)
    return {
        lexeme: near
        for lexeme in lexemes
        if lexeme not in anchors
        and len(lexeme) >= LEAST_STEM
        and (near := frozenset(one for one in by_stem.get(lexeme[:LEAST_STEM], ()) if _are_kin(one, lexeme)))
    }


def _are_kin(one: str, other: str) -> bool:
    stem = max(LEAST_STEM, len(one) - MOST_ENDING, len(other) - MOST_ENDING)
    return one[:stem] == other[:stem]


class Words:
    """Splits text into the lexemes of one language that carry meaning.

    Attributes:
        language: Its code, such as ``de``.
        is_english: Whether the language is English.
        has_names: Whether a capital within a sentence shows a name.
        ordinary: English words that begin sentences and are no names, in lower case.
        first_names: Lexemes of given names, which are names at the beginning of a sentence, too.
    """

    def __init__(self, language: str) -> None:
        self._lexer = Lexer(STEMMERS.get(language, "english"))
        self._empty = frozenset(lexeme for word in lexicon_of(language).stop for lexeme in self._lexer.lexemes(word))
        self.language = language
        self.is_english = language == "en"
        self.has_names = language != "de"
        listed = lexicon_of("en")
        self.ordinary = listed.stop | listed.filler | listed.common | listed.junk
        self.first_names = frozenset(lexeme for name in listed.first_names for lexeme in self._lexer.lexemes(name))

    def lexemes(self, text: str) -> list[str]:
        """Return the lexemes in order, with repetitions."""
        return [lexeme for lexeme in self._lexer.lexemes(text) if lexeme not in self._empty]

    def found_by(self, text: str) -> frozenset[str]:
        """Return the lexemes by which a question finds a text: its own, and single characters that are words."""
        return frozenset(self._lexer.found_by(text)) - self._empty


@cache
def words_of(language: str) -> Words:
    """Return the words of a language, by its code such as ``de``."""
    return Words(language)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read.

    Attributes:
        text: The question in lower case.
        kinds: What each of its asking words wants.
        anchors: The lexemes that an answer is about, without those that only say what is asked for.
        names: Its capitalised words but the first, as lexemes.
        rest: The anchors without names and words such as "know"; none if it asks for all there is about somebody.
        subjects: Those that do or are something in it.
        focus: The lexemes of the things counted, such as *guests* in "How many guests come?".
        dimensions: The units in which it is measured; none if any.
        is_past: Whether it asks for what has happened.
        is_own: Whether the asker is its subject.
    """

    text: str
    kinds: tuple[Kind, ...]
    anchors: frozenset[str]
    names: frozenset[str]
    rest: frozenset[str]
    subjects: frozenset[str]
    focus: frozenset[str]
    dimensions: tuple[str, ...]
    is_past: bool
    is_own: bool

    @property
    def trust(self) -> Trust:
        """How surely a sentence shows that it answers."""
        if _STRICT.issuperset(self.kinds):
            return Trust.STRICT
        return Trust.NONE if _OPEN.intersection(self.kinds) else Trust.LOOSE


def read(question: str, words: Words) -> Asked:
    """Read a question."""
    written = [match.group() for match in WORD.finditer(question)]
    lower = [word.lower().replace("’", "'") for word in written]
    found = list(_kinds(lower, language_of_short(question, words.language))) or [_Found(Kind.YES_NO)]
    capitalised = [
        (before.lower(), frozenset(words.lexemes(word))) for before, word in pairwise(written) if word[0].isupper()
    ]
    doing = _GRAMMAR["auxiliaries"] | _GRAMMAR["german"]
    anchors = frozenset(lexeme for word in lower if word not in _GRAMMAR["implied"] for lexeme in words.lexemes(word))
    names = frozenset().union(*(lexemes for _, lexemes in capitalised))
    general = frozenset(lexeme for word in _GRAMMAR["general"] for lexeme in words.lexemes(word))
    focus = (frozenset(words.lexemes(word)) for word in lower[found[0].after :])
    return Asked(
        question.casefold(),
        tuple(one.kind for one in found),
        anchors or frozenset(words.lexemes(question)),
        names,
        anchors - names - general,
        _subjects(written, doing, words),
        next(filter(None, focus), frozenset()),
        tuple(unit for one in found for unit in one.dimensions),
        not _GRAMMAR["past"].isdisjoint(lower),
        any(before in doing and word == "i" for before, word in pairwise(lower)),
    )


def _subjects(written: list[str], doing: frozenset[str], words: Words) -> frozenset[str]:
    """Return the lexemes of the names after an auxiliary verb: of all people in "do Dr. Okafor and Dave"."""
    found: set[str] = set()
    for place, (before, word) in enumerate(pairwise(written), 1):
        if before.lower() in doing and word[0].isupper():
            run = takewhile(lambda one: one[0].isupper() or one in _GRAMMAR["adding"], written[place:])
            found.update(lexeme for one in run if one[0].isupper() for lexeme in words.lexemes(one))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Found:
    """A word that asks: for what, how many words are up to it, and in which units the answer is measured."""

    kind: Kind
    after: int = 0
    dimensions: tuple[str, ...] = ()


def _kinds(words: list[str], language: str) -> Iterator[_Found]:
    """Yield what each asking word of a question in a language wants."""
    text = " ".join(words)
    is_other = words[:1] == ["am"] and words[1:2] != ["i"]  # German: "Am Montag"
    if words and words[0] in _GRAMMAR["auxiliaries"] and not is_other and not _asks_in(words[0], 0, words, language):
        yield _Found(Kind.YES_NO, 1)
        return
    for place, word in enumerate(words):
        following = words[place + 1 : place + 7]
        size = following[0] if following else ""
        asks = _asks_in(word, place, words, language)
        if asks is not None:
            yield _Found(_what(words[place + 1 :], text) if asks is Kind.OTHER else asks, place + 1)
        elif word in _HOMOGRAPHS:
            continue
        elif word in _ASKING["many"] or (word in _ASKING["number"] and _counts(following)):
            yield _Found(Kind.COUNT, place + 1)
        elif word in _ASKING["much"]:
            yield _Found(Kind.MONEY if _MONEY.search(text) else Kind.MEASURE, place + 1, _AMOUNT)
        elif word in _ASKING["how"] and size in _BY_SIZE:
            yield _Found(Kind.MEASURE, place + 2, _BY_SIZE[size])
        elif word in _ASKING["how"] and size not in _ASKING["many"] | _ASKING["much"]:
            yield _Found(Kind.OTHER, place + 1)
        elif word in _BY_WORD:
            yield _Found(_BY_WORD[word], place + 1)
        elif word in _ASKING["what"] and (place < 2 or word != "que"):
            yield _Found(_what(words[place + 1 :], text), place + 1)


def _asks_in(word: str, place: int, words: list[str], language: str) -> Kind | None:
    """Return the kind that a question word of one language asks for; OTHER for "what"."""
    if word == "was":  # English and Dutch: the past of "is"
        is_german = language == "de" or (language not in ("en", "nl") and not _GRAMMAR["german"].isdisjoint(words))
        return Kind.OTHER if is_german and place < 2 else None
    if word == "wie" and language == "nl":  # German: how
        return Kind.WHO
    if word == "dove":  # English: a bird
        return Kind.WHERE if language == "it" or not place else None
    if word in ("come", "como"):  # English: a verb; Spanish: "eats"
        return Kind.OTHER if not place and language in ("it", "pt") else None
    if word == "waar" and words[-1] in _GRAMMAR["dutch_particles"]:  # "Waar ben ik allergisch voor?"
        return Kind.OTHER
    return None


def _counts(following: list[str]) -> bool:
    """Return whether a noun follows a word that asks for a number or an amount: "combien de chiens"."""
    first = following[0] if following else ""
    return first in ("de", "d") or not (first in _GRAMMAR["copulas"] or first == "zijn" or _MONEY.search(first))


def _what(rest: list[str], text: str) -> Kind:
    """Return the kind that "what" asks for, by the rest of the question."""
    following = rest[:6]
    if following[:1] == ["time"]:
        return Kind.WHEN
    if _FORMS.asks_for_device.match(text):
        return Kind.OTHER
    clause = frozenset(takewhile(lambda word: word not in _GRAMMAR["joining"], rest))
    if clause & _GRAMMAR["forbidding"] or (clause & _GRAMMAR["allowing"] and clause & _GRAMMAR["denying"]):
        return Kind.LIMIT
    if not _GRAMMAR["weighs"].isdisjoint(following):
        return Kind.MEASURE
    nouns = following if following and following[0] in _GRAMMAR["copulas"] else following[:2]
    heads = (noun for noun, after in zip(nouns, [*following[1:], ""], strict=False) if after not in _GRAMMAR["naming"])
    kind = next((_BY_NOUN[noun] for noun in heads if noun in _BY_NOUN), None)
    return kind or (Kind.MONEY if _COSTS.search(text) else Kind.OTHER)
