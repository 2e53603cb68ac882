"""An index of node names that finds them in a question: exact, with one letter wrong, or by their beginning.

``query.node_scores`` weighs a name against other evidence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence

from neurigraph_pipelines.text.lexemes import name_words

EXACT, NEARLY, BEGUN = 1.0, 0.8, 0.6
"""The score of a name that a question holds exactly, with one letter wrong, or by its beginning."""

_KEY_WORDS, _KEY_LENGTH = 6, 100
"""Names are looked up by a key: at most so many of their first words, cut to so many characters."""

_MISSPELT = range(5, 41)
"""Lengths of keys and phrases that may be misspelt."""

_MISSPELT_WORDS, _MISSPELT_PLACES = 2, 40
"""Only phrases of at most so many words, among the first so many words of a question, are looked up as misspelt."""

_SHORTEST_BEGINNING, _BEGUN = 4, 16
"""Fewest letters of a word that may begin a name, and most names that it leads to."""


class Names:
    """An index of the names of nodes.

    Args:
        names: The names of each node, one a line; None for a node that is not looked up by name.
        before: An earlier index; its entries are reused, since most names stay the same.
    """

    def __init__(self, names: Sequence[str | None], before: Names | None = None) -> None:
        self._names = names
        self._words: dict[str, tuple[str, ...]] = {}
        self._nodes: dict[str, list[tuple[str, int]]] = defaultdict(list)
        known = before._words if before is not None else {}
        for number, lines in enumerate(names):
            if lines is not None:
                self._words[lines] = in_words = known.get(lines) or _in_words(lines)
                for name in in_words:
                    self._nodes[_key(name)].append((name, number))
        self._keys = sorted(self._nodes)
        # Lengths of phrases that may be keys with one letter more, less or wrong.
        self._lengths = {length + by for length in map(len, self._keys) for by in (-1, 0, 1)}
        # Keys by their form without one letter, and which letter; some keys may be out of use.
        self._gaps: dict[str, tuple[tuple[int, str], ...]] = {}
        self._indexed: set[str] = set()
        if before is not None and len(before._indexed) <= 2 * len(self._nodes):
            self._gaps, self._indexed = dict(before._gaps), set(before._indexed)
        for key in self._nodes.keys() - self._indexed:
            self._indexed.add(key)
            for variant, gap in _gaps(key).items():
                self._gaps[variant] = (*self._gaps.get(variant, ()), (gap, key))

    def has_names(self, names: Sequence[str | None]) -> bool:
        """Return whether the index holds exactly these names."""
        return self._names == names

    def named(self, query: str, lexemes: Sequence[str]) -> dict[int, float]:
        """Return the score of each node that a question names, by number: ``EXACT``, ``NEARLY`` or ``BEGUN``."""
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
        """Yield keys that differ from a phrase in one letter: wrong, missing, added or swapped.

        Both are compared with one letter left out (deletion neighbourhoods: Garbe's SymSpell, 2012).
        """
        for phrase in _phrases(words, _MISSPELT_WORDS, _MISSPELT_PLACES):
            if len(phrase) not in self._lengths or not _MISSPELT.start - 1 <= len(phrase) < _MISSPELT.stop:
                continue
            for _, key in self._gaps.get(phrase, ()):  # a letter is missing
                yield key
            gaps = _gaps(phrase)
            yield from self._nodes.keys() & gaps.keys()  # a letter was added
            for variant in self._gaps.keys() & gaps.keys():
                for place, key in self._gaps[variant]:
                    if abs(gaps[variant] - place) <= 1:
                        yield key


def _in_words(names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words for name in names.split("\n") if (words := " ".join(name_words(name)))))


def _key(name: str) -> str:
    words = name.split(" ", _KEY_WORDS)
    return " ".join(words[:_KEY_WORDS])[:_KEY_LENGTH]


def _phrases(words: Sequence[str], most: int, places: int | None = None) -> Iterator[str]:
    """Yield runs of at most ``most`` words that begin among the first ``places`` words."""
    for start in range(len(words))[:places]:
        phrase = words[start]
        yield phrase
        for word in words[start + 1 : start + most]:
            phrase = f"{phrase} {word}"
            yield phrase


def _gaps(key: str) -> dict[str, int]:
    """Return the forms of a key without one letter, with the first letter that gives each form."""
    gaps = reversed(range(len(key))) if len(key) in _MISSPELT else ()
    return {key[:gap] + key[gap + 1 :]: gap for gap in gaps}
