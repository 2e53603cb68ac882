"""Corrections: sentences of a summary that a person replaced, and the texts that still repeat these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.text.negations import NEGATION

LEAST_SHARED = 0.5
"""Least share of the words of the shorter of two sentences that say the same thing."""

_END = re.compile(r"(?<=[.!?…。！？])(?<!\s\d\.)(?<!\s\d\d\.)\s+|\n+")
_AFFIRMS = ""
"""Stands among the words of a sentence that denies nothing: no lexeme is empty."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A sentence that replaced another one.

    Attributes:
        text: The new sentence.
        said: The words of the replaced one.
        lost: Those of them that the new sentence lacks.
    """

    text: str
    said: frozenset[str]
    lost: frozenset[str]

    def corrects(self, words: frozenset[str]) -> bool:
        """Return whether a sentence of these words says the replaced statement."""
        shorter = min(len(words - {_AFFIRMS}), len(self.said - {_AFFIRMS}))
        return bool(words & self.lost) and 0 < len(_shared(words, self.said)) >= LEAST_SHARED * shorter


def corrections_of(before: str, after: str, lexer: Lexer) -> list[Correction]:
    """Return the corrections of a new summary to an earlier one: sentences of it that came in the place of others.

    A sentence that was only dropped, added or given more details corrects nothing.
    """
    old, new = list(sentences_of(before)), list(sentences_of(after))
    gone = [_words(one, lexer) for one in old if one not in new]
    come = {one: _words(one, lexer) for one in new if one not in old}
    found: list[Correction] = []
    for said in gone:
        nearest = max(come, key=lambda one: (come[one] & said).total(), default=None)
        if nearest is not None and (_shared(come[nearest], said) or len(gone) == len(come) == 1):
            found.append(Correction(nearest, frozenset(said), frozenset(said - come[nearest])))
    return [one for one in found if one.lost]


def correction_of(text: str, corrections: Sequence[Correction], lexer: Lexer) -> Correction | None:
    """Return the first correction of a text; None if all of it stands."""
    said = [frozenset(_words(one, lexer)) for one in sentences_of(text)] if corrections else ()
    return next((one for one in corrections if any(map(one.corrects, said))), None)


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each on one line."""
    return filter(None, (" ".join(one.split()) for one in _END.split(text)))


def _words(sentence: str, lexer: Lexer) -> Counter[str]:
    found = Counter(lexer.lexemes(sentence))
    return found if NEGATION.search(sentence) else found + Counter([_AFFIRMS])


def _shared(one: Iterable[str], other: Iterable[str]) -> frozenset[str]:
    return frozenset(one) & frozenset(other) - {_AFFIRMS}
