"""How well two neighbouring pieces of a conversation hold together, as figures that ``segmentation`` weighs.

Words, meaning and topics of both sides are compared (lexical cohesion, Halliday and Hasan 1976; Hearst 1997), and what
lies between: a pause, an open question, a phrase such as "by the way".
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role
from resources.offline.prose import Prose, without_spaces

Floats = NDArray[np.float64]
Weights = Mapping[int, Mapping[str, float]]
"""The weights of topics in each message, by its position; 1 is one clear word."""

NEAR = 10
"""Messages of each side whose words are compared: those next to the change."""

EDGE = 2
"""Messages of each side that are compared once more by themselves."""

NEAREST = 6
"""Messages of each side of which the nearest three pairs are compared."""

MOST_WORDS = 120
"""Words of a message that are read."""

MOST_OF_SHORT = 12
"""Words of a side up to which the topics of other languages than English tell by themselves that they change."""

BEGINNING = 5
"""Letters with which two words of one kind begin, such as those of compounds; a shorter word counts only whole."""

OF_BEGINNING = 0.5

HELD = 0.2
"""How much messages are alike where no side has several."""

ENGLISH = "en"
"""The language in which the meaning of short texts is told well by the local embedder."""

NAMES = (
    "constant", "words", "no word", "share", "topics", "meaning", "edge", "nearest", "foreign", "foreign meaning",
    "foreign edge", "held together", "usual", "new", "same", "asked", "asked by person", "pause", "said before",
    "said after", "said first", "few", "words of few",
    "names", "other names", "foreign topics",
)  # fmt: skip
"""The figures, in order."""


_WEIGHTS: dict[bool, dict[str, float]] = {
    True: {
        "constant": -0.37, "words": -11.40, "no word": -1.37, "share": -0.94, "topics": -0.44, "meaning": -3.55,
        "edge": -5.32, "nearest": -2.00, "foreign": 1.03, "foreign meaning": -3.16, "foreign edge": 6.58,
        "held together": 1.05, "usual": 0.89, "new": 2.00, "same": -0.48, "asked": 0.61, "asked by person": -1.55,
        "pause": 0.25, "said before": 0.26, "said after": 0.55, "said first": 0.38, "few": -1.58,
        "words of few": 7.22, "names": -1.03, "other names": 0.73, "foreign topics": 3.00,
    },
    False: {
        "constant": -4.00, "words": -12.68, "no word": -1.33, "share": -0.47, "topics": -0.72, "new": 2.00,
        "same": -0.64, "asked": 0.14, "asked by person": -1.87, "pause": 0.25, "said before": 0.36,
        "said after": 0.75, "said first": 0.37, "few": 1.21, "words of few": 7.53, "names": -2.22,
        "other names": 0.56,
    },
}  # fmt: skip
WEIGHTS = {meaning: np.array([named.get(name, 0.0) for name in NAMES]) for meaning, named in _WEIGHTS.items()}
"""Weight of each figure, with meaning and without: fitted by logistic regression over the changes that ``segmentation``
weighs, half to conversations put together from ``training/talks`` and public talks (``training/talks.py``), half to the
development half of `benchmarks/subjects.py`. Those of "new" and "pause" were set by hand, because pieces that were put
together have none; that of "foreign topics" on the development half, because few public talks are not English."""
MOST_READ = 200
"""Characters of a message that are read."""

FEW_CHARACTERS = 5
"""Characters of a script without spaces that say too little alone."""

_FIRST_SENTENCE = re.compile(r"[^.!?:。！？]*.?")


class Cohesion:
    """The words, meanings and topics of the messages of one segment."""

    def __init__(self, prose: Prose, topics: Weights, vectors: Floats | None) -> None:
        """Read a segment.

        Args:
            prose: The segment.
            topics: The weights of topics in its messages.
            vectors: The meaning of each message, zeros for one without; None if unknown.
        """
        self.messages = prose.segment.messages
        self._language = prose.language
        self._topics = topics
        self._languages = [prose.language] * len(self.messages)
        self._words: list[Counter[str]] = [Counter() for _ in self.messages]
        for number, sentences in prose.by_message.items():
            self._languages[number] = sentences[0].language
            words = [word.stem for sentence in sentences for word in sentence.content][:MOST_WORDS]
            self._words[number] = Counter(words)
            for stem in words:
                if len(stem) > BEGINNING and stem.isalpha():
                    self._words[number][f"{stem[:BEGINNING]}~"] += OF_BEGINNING  # type: ignore[assignment]
        self._names = _names_said(prose)
        held = Counter(stem for words in self._words for stem in words)
        count = len(self.messages)
        self._rarity = {stem: math.sqrt(math.log(1 + count / n)) for stem, n in held.items()}
        self._read(vectors)
        self._said = [sum(n for stem, n in words.items() if not stem.endswith("~")) for words in self._words]
        self._spoken = np.concatenate([[0], np.cumsum(self._said)])
        self._openings: dict[int, Opening] = {}
        self._pauses = max(1, sum(self._hours(at) >= 1 for at in range(1, count)))

    def _read(self, vectors: Floats | None) -> None:
        count = len(self.messages)
        known = np.zeros((count, 1)) if vectors is None else vectors
        lengths = np.linalg.norm(known, axis=1)
        self._sums = np.concatenate([np.zeros((1, known.shape[1])), known.cumsum(0)])
        self._lengths = np.concatenate([[0.0], lengths.cumsum()])
        self._squares = np.concatenate([[0.0], (lengths**2).cumsum()])
        self._vectors = None if vectors is None else vectors / np.maximum(lengths, 1e-9)[:, None]
        self._usual = HELD
        if self._vectors is not None and count > 1:
            self._usual = float((self._vectors[1:] * self._vectors[:-1]).sum(axis=1).mean())

    @property
    def has_meaning(self) -> bool:
        """Whether the meaning of the messages is known."""
        return self._vectors is not None

    def opening(self, position: int) -> Opening:
        """Return how a message begins."""
        if position not in self._openings:
            self._openings[position] = opening_of(self.messages[position].content, self._languages[position])
        return self._openings[position]

    def figures(self, start: int, at: int, end: int, last: int | None = None) -> Floats:
        """Return the figures of a change.

        Args:
            start: The first message of the side before.
            at: The first message of the side after.
            end: The message behind it.
            last: The message behind the side before, if other messages lie between; then the passage says nothing.
        """
        stop = at if last is None else last
        before, after = range(max(start, stop - NEAR), stop), range(at, min(end, at + NEAR))
        cosine, shared = self._lexical(before, after)
        said_before, said_after = (
            float(self._spoken[to] - self._spoken[since]) for since, to in ((start, stop), (at, end))
        )
        few = 1 / (1 + min(said_before, said_after) / 8)
        return np.array(
            [
                1.0,
                cosine,
                float(shared == 0),
                min(shared, 0.5),
                self._topical(before, after),
                *self._meanings(before, after),
                *(self._passage(at) if last is None else (0.0,) * 5),
                math.log1p(said_before),
                math.log1p(said_after),
                math.log1p(self._said[at]),
                few,
                cosine * few,
                *self._naming(before, after),
                self._foreign_topics(before, after) if last is not None or not self._asked(at) else 0.0,
            ]
        )

    def apart(self, one: tuple[int, int], other: tuple[int, int]) -> float:
        """Return the log odds that two pieces with others between them, each from a message to another, differ."""
        return float(self.figures(one[0], other[0], other[1], one[1]) @ WEIGHTS[self.has_meaning])

    def _passage(self, at: int) -> tuple[float, ...]:
        """Return how a message begins, whether it answers, and the pause before it."""
        opening, asked = self.opening(at), self._asked(at)
        by_person = asked and self.messages[at - 1].role is Role.USER
        # One pause of many says little: somebody comes back to the same subject for days.
        pause = math.log1p(self._hours(at)) / self._pauses
        return float(opening.new), float(opening.same), float(asked), float(by_person), pause

    def _asked(self, at: int) -> bool:
        """Return whether a message follows a question of somebody else."""
        last, first = self.messages[at - 1], self.messages[at]
        return last.content.rstrip().endswith(("?", "？")) and (last.role, last.author) != (first.role, first.author)

    def _hours(self, at: int) -> float:
        """Return the hours before a message."""
        return max(0.0, (self.messages[at].occurred_at - self.messages[at - 1].occurred_at).total_seconds() / 3600)

    def _meanings(self, before: range, after: range) -> tuple[float, ...]:
        """Return how alike the sides are in meaning: as a whole, next to the change, and their nearest messages."""
        if self._vectors is None:
            return (0.0,) * 8
        whole = self._meaning(before, after)
        edge = self._meaning(before[-EDGE:], after[:EDGE])
        pairs = self._vectors[before[-NEAREST:]] @ self._vectors[after[:NEAREST]].T
        nearest = float(np.sort(pairs, axis=None)[-3:].mean())
        foreign = float(self._language != ENGLISH)
        held = self._held_together(before, after)
        return whole, edge, nearest, foreign, foreign * whole, foreign * edge, held, self._usual

    def _lexical(self, before: range, after: range) -> tuple[float, float]:
        """Return the cosine of two sides, and the share of the smaller side's words that the other one has."""
        one, other = self._bag(before), self._bag(after)
        common = one.keys() & other.keys()
        lengths = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
        smaller = min(len(one), len(other))
        cosine = sum(one[stem] * other[stem] for stem in common) / lengths if lengths else 0.0
        return math.sqrt(cosine), len(common) / smaller if smaller else 0.0

    def _naming(self, before: range, after: range) -> tuple[float, float]:
        """Return the cosine of the names said on two sides, and how many each side has if they share none."""
        one, other = (
            Counter(name for number in side for name in self._names.get(number, ())) for side in (before, after)
        )
        common = one.keys() & other.keys()
        if not common:
            return 0.0, math.log1p(min(len(one), len(other)))
        lengths = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
        return math.sqrt(sum(one[name] * other[name] for name in common) / lengths), 0.0

    def _bag(self, positions: range) -> dict[str, float]:
        total: Counter[str] = Counter()
        for number in positions:
            total.update(self._words[number])
        return {stem: self._rarity[stem] * (1 + math.log(n) if n > 1 else n) for stem, n in total.items()}

    def _meaning(self, before: range, after: range) -> float:
        one, other = (self._sums[side.stop] - self._sums[side.start] for side in (before, after))
        lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
        return float(one @ other) / lengths if lengths else 0.0

    def _held_together(self, before: range, after: range) -> float:
        """Return how much the messages of each side are alike, the mean of the sides that have several."""
        found = [alike for side in (before, after) if (alike := self._alike(side)) is not None]
        return sum(found) / len(found) if found else HELD

    def _alike(self, side: range) -> float | None:
        if self._vectors is None or len(side) < 2:
            return None
        whole = self._sums[side.stop] - self._sums[side.start]
        squares, lengths = (each[side.stop] - each[side.start] for each in (self._squares, self._lengths))
        pairs = lengths**2 - squares
        return float((whole @ whole - squares) / pairs) if pairs > 0 else None

    def _topical(self, before: range, after: range) -> float:
        """Return how much the topics of two sides are alike."""
        one, other = self._topics_of(before), self._topics_of(after)
        lengths = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
        return sum(one[name] * other[name] for name in one.keys() & other.keys()) / lengths if lengths else 0.0

    def _foreign_topics(self, before: range, after: range) -> float:
        """Return how much greater the share of each side's first topic is than on the other side, the smaller of both.

        The meaning of short texts is told well in English alone, and so their words have to say that the topic changes.
        Where more is said, a side has words of many topics by chance.
        """
        sides = self._topics_of(before), self._topics_of(after)
        least = min(1.0, *(sum(side.values()) for side in sides))
        said = max(self._spoken[side.stop] - self._spoken[side.start] for side in (before, after))
        if self._language == ENGLISH or least == 0 or said > MOST_OF_SHORT:
            return 0.0
        one, other = ({name: n / sum(side.values()) for name, n in side.items()} for side in sides)
        return max(0.0, min(_lead(one, other), _lead(other, one))) * least

    def _topics_of(self, positions: range) -> Counter[str]:
        total: Counter[str] = Counter()
        for number in positions:
            total.update(self._topics.get(number, {}))
        return total


def _lead(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return how much greater the share of the first topic of ``one`` is than its share of ``other``."""
    first = max(one, key=one.__getitem__)
    return one[first] - other.get(first, 0.0)


def _names_said(prose: Prose) -> dict[int, frozenset[str]]:
    """Return the stems of the names of each message, but in German, where each noun has a capital."""
    capitals = {
        number: [
            (word.stem, place > 0)
            for sentence in found
            if sentence.language != "de"
            for place, word in enumerate(sentence.words)
            if word.content and word.text[0].isupper()
        ]
        for number, found in prose.by_message.items()
    }
    known = {stem for words in capitals.values() for stem, within in words if within}
    return {number: frozenset(stem for stem, _ in words if stem in known) for number, words in capitals.items()}


@dataclass(frozen=True, slots=True)
class Opening:
    """How a message begins."""

    new: bool
    same: bool


def opening_of(text: str, language: str) -> Opening:
    """Return how ``text`` begins; in a language without phrases it says nothing."""
    rules = _rules(language)
    if rules is None:
        return Opening(new=False, same=False)
    read = text[:MOST_READ].replace("’", "'").lower().lstrip(" \"'-–—*#¿¡")
    led = rules["lead"].match(read)
    rest = read[led.end() :] if led else read
    first = _FIRST_SENTENCE.match(rest)
    anywhere = rules["anywhere"].search(first.group()) if first else None
    return Opening(
        new=bool(rules["new"].match(rest) or rules["new"].match(read) or anywhere),
        same=bool(rules["same"].match(read)),
    )


def without_opening(text: str, language: str) -> str:
    """Return ``text`` without a phrase at its beginning that announces another subject, such as "by the way"."""
    rules = _rules(language)
    if rules is None:
        return text
    plain = text[:MOST_READ].replace("’", "'").lower()
    led = rules["lead"].match(plain)
    begin = led.end() if led else 0
    found = rules["new"].match(plain, begin)
    if found is None or len(plain) != len(text[:MOST_READ]):
        return text
    rest = text[found.end() :].lstrip(" ,:;–—-、，：")
    return rest if len(rest.split()) > 2 or (without_spaces(rest) and len(rest) > FEW_CHARACTERS) else text


@cache
def _rules(language: str) -> dict[str, re.Pattern[str]] | None:
    lists = _phrases().get(language)
    if lists is None:
        return None
    found = {name: "|".join(_pattern(phrase) for phrase in _split(text)) or r"(?!)" for name, text in lists.items()}
    lead = rf"(?:(?:{found.pop('lead')})[^\w]{{0,4}}\s*)*"
    return {"lead": re.compile(lead), **{name: re.compile(rf"(?:{text})") for name, text in found.items()}}


def _split(text: str) -> list[str]:
    """Return the phrases, the longest first, because the first that fits is taken."""
    return sorted(filter(None, (phrase.strip() for phrase in text.split(","))), key=len, reverse=True)


def _pattern(phrase: str) -> str:
    """Return the pattern of a phrase: whole words, where a script has spaces."""
    plain = re.escape(phrase)
    return plain if without_spaces(phrase) else rf"\b{plain}(?!\w)"


@cache
def _phrases() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("changes.toml").read_text(encoding="utf-8")
    data: dict[str, dict[str, str]] = tomllib.loads(text)
    return data
