"""Names of nodes as questions say them: as they are, with one letter wrong, or as they begin.

Knows names and numbers of nodes; what a name is worth beside other signs is said in ``anchors``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from neurigraph_pipelines.text.lexemes import name_words

EXACT, NEARLY, BEGUN = 1.0, 0.8, 0.6
"""What it is worth that a question says a name as it is, with one letter wrong, or how it begins."""

_KEY_WORDS, _KEY_LENGTH = 6, 100
"""Names are looked up by their first words."""

_MISSPELT = range(5, 41)
"""Lengths of what may have a letter too few or another one."""

_MISSPELT_WORDS, _MISSPELT_PLACES = 2, 40
"""Only what has so few words, and stands among the first of a question, is looked up as if it were misspelt."""

_SHORTEST_BEGINNING, _BEGUN = 4, 16
"""Letters of a word that may begin a name, and how many names it stands for at most."""


class Names:
    """What nodes are called, found by what a question says.

    Args:
        called: Of each node its names, each on a line of its own; None of one that nobody calls by a name.
        before: What was known before, of which is taken over what is still right: most names stay.
    """

    def __init__(self, called: Sequence[str | None], before: Names | None = None) -> None:
        self._called = called
        self._words: dict[str, tuple[str, ...]] = {}
        self._nodes: dict[str, list[tuple[str, int]]] = defaultdict(list)
        known = before._words if before is not None else {}
        for number, names in enumerate(called):
            if names is not None:
                self._words[names] = said = known.get(names) or _as_said(names)
                for name in said:
                    self._nodes[_key(name)].append((name, number))
        self._keys = sorted(self._nodes)
        # Keys by themselves without one letter, and which; some may be nobody's any more.
        self._gaps: dict[str, tuple[tuple[int, str], ...]] = {}
        self._indexed: set[str] = set()
        if before is not None and len(before._indexed) <= 2 * len(self._nodes):
            self._gaps, self._indexed = dict(before._gaps), set(before._indexed)
        for key in self._nodes.keys() - self._indexed:
            self._indexed.add(key)
            for variant, gap in _gaps(key).items():
                self._gaps[variant] = (*self._gaps.get(variant, ()), (gap, key))

    def are_called(self, called: Sequence[str | None]) -> bool:
        """Whether these are the names of just such nodes."""
        return self._called == called

    def named(self, query: str, lexemes: Sequence[str]) -> dict[int, float]:
        """The nodes that a question names, by number, and how surely: 1 as they are, 0.8 nearly, 0.6 by a beginning."""
        scores: dict[int, float] = {}
        for lexeme in lexemes:
            for number in self._begun(lexeme):
                scores[number] = BEGUN
        words = name_words(query)
        for key in self._misspelt(words):
            for _, number in self._nodes.get(key, ()):
                scores[number] = NEARLY
        text = f" {' '.join(words)} "
        for phrase in _phrases(words, _KEY_WORDS):
            for name, number in self._nodes.get(phrase[:_KEY_LENGTH], ()):
                if f" {name} " in text:
                    scores[number] = EXACT
        return scores

    def _begun(self, lexeme: str) -> Iterator[int]:
        if len(lexeme) < _SHORTEST_BEGINNING:
            return
        first = bisect_left(self._keys, lexeme)
        numbers = (
            number
            for key in self._keys[first : first + _BEGUN]
            if key.startswith(lexeme)
            for _, number in self._nodes[key]
        )
        for _, number in zip(range(_BEGUN), numbers, strict=False):
            yield number

    def _misspelt(self, words: Sequence[str]) -> Iterator[str]:
        """Keys that differ in one letter from something that is said: one wrong, missing, added or swapped.

        Both are compared with a letter left out (deletion neighbourhoods: Garbe's SymSpell, 2012).
        """
        for phrase in _phrases(words, _MISSPELT_WORDS, _MISSPELT_PLACES):
            if len(phrase) < _MISSPELT.start - 1 or len(phrase) >= _MISSPELT.stop:
                continue
            for _, key in self._gaps.get(phrase, ()):  # a letter is missing
                yield key
            for variant, gap in _gaps(phrase).items():
                yield variant  # a letter was added
                for place, key in self._gaps.get(variant, ()):
                    if abs(gap - place) <= 1:
                        yield key


def _as_said(names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(said for name in names.split("\n") if (said := " ".join(name_words(name)))))


def _key(name: str) -> str:
    words = name.split(" ", _KEY_WORDS)
    return " ".join(words[:_KEY_WORDS])[:_KEY_LENGTH]


def _phrases(words: Sequence[str], most: int, places: int | None = None) -> Iterator[str]:
    """Up to so many words that follow each other; where the first must be among so many."""
    for start in range(len(words))[:places]:
        phrase = words[start]
        yield phrase
        for word in words[start + 1 : start + most]:
            phrase = f"{phrase} {word}"
            yield phrase


def _gaps(key: str) -> dict[str, int]:
    """A key without each of its letters in turn, and which was left out; of equal ones the first."""
    gaps: dict[str, int] = {}
    if len(key) in _MISSPELT:
        for gap in range(len(key)):
            gaps.setdefault(key[:gap] + key[gap + 1 :], gap)
    return gaps
