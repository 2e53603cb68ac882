"""An index of node names that finds them in a question: exact, with one letter wrong, or by their beginning.

``query.node_scores`` weighs a name against other signs.
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
        # Keys by their length and a half: one wrong letter leaves at least one half as it is.
        self._halves: dict[tuple[int, int, str], list[str]] = defaultdict(list)
        for key in self._keys:
            for half in _halves(key, len(key)):
                self._halves[half].append(key)

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
        """Yield keys that differ from a phrase in one letter: wrong, missing, added or swapped."""
        for phrase in _phrases(words, _MISSPELT_WORDS, _MISSPELT_PLACES):
            if len(phrase) not in self._lengths or not _MISSPELT.start - 1 <= len(phrase) < _MISSPELT.stop:
                continue
            for length in range(len(phrase) - 1, len(phrase) + 2):
                if max(length, len(phrase)) not in _MISSPELT:
                    continue
                for half in _halves(phrase, length):
                    for key in self._halves.get(half, ()):
                        if _is_misspelt(phrase, key):
                            yield key


def _in_words(names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words for name in names.split("\n") if name and (words := " ".join(name_words(name)))))


def _key(name: str) -> str:
    return " ".join(name.split(" ", _KEY_WORDS)[:_KEY_WORDS])[:_KEY_LENGTH]


def _phrases(words: Sequence[str], most: int, places: int | None = None) -> Iterator[str]:
    """Yield runs of at most ``most`` words that begin among the first ``places`` words."""
    for start in range(len(words))[:places]:
        phrase = words[start]
        yield phrase
        for word in words[start + 1 : start + most]:
            phrase = f"{phrase} {word}"
            yield phrase


def _halves(phrase: str, length: int) -> tuple[tuple[int, int, str], tuple[int, int, str]]:
    """Return the halves of a key of so many letters, without its middle letter, as a phrase for it may have them."""
    middle = length // 2
    return (length, 0, phrase[:middle]), (length, 1, phrase[len(phrase) - (length - middle - 1) :])


def _is_misspelt(phrase: str, key: str) -> bool:
    """Return whether one letter is wrong, missing or added, or two neighbours are swapped."""
    same = next((n for n, (one, other) in enumerate(zip(phrase, key, strict=False)) if one != other), None)
    if same is None:
        return len(phrase) != len(key)
    one, other = phrase[same:], key[same:]
    if len(one) != len(other):
        return one[1:] == other or one == other[1:]
    return one[1:] == other[1:] or (one[:2] == other[1::-1] and one[2:] == other[2:])
