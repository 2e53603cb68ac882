"""Sources that repeat a statement: repetitions within one source count as one statement.

Two messages say the same only if no number, name or negation differs, and no word but those that insist stands in
place of another one: "the rent for flat A" and "the rent for flat B" are two statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.text.negations import NEGATION

RESTATED = 3
"""From how many messages of a source that say the same it restates itself; two may be a correction."""

WORD = re.compile(r"[^\W_]+")
NAME = re.compile(r"(?<=[\w,;:'’\"“] )[^\W\d_a-zß-öø-ÿ][^\W_]*")
_ENUMERATOR = re.compile(r"\s*\((?:\w{1,10} )?\d{1,3}\)(?=[.!]?\s*$)")
_INSISTING = frozenset(
    """a about again also always an and are as be been check checked clear confirm confirmed correct definitely doubt
    else everybody everyone for has have i indeed is it know knows no note nothing of ok okay once people please really
    record remember reminder right said say so sure that the this to truly true was we well what where which who
    yes you
    als also auch das dass der die doch genau ist ja klar noch nochmal richtig sagt schon sicher so wie wirklich wissen
    como de el es está la lo los otra que repito sí siempre todos vez
    c ce de encore est et il le la les oui que vraiment
    che di e il la lo sempre sì è davvero de het is ja nog echt de é o os sim sempre""".split()
)
"""Words of grammar and of insistence, which add nothing to a statement."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A message, as far as another one may say the same.

    Attributes:
        words: In lower case.
        values: Those that are numbers or names.
        negations: How many there are.
    """

    source: str
    words: frozenset[str]
    values: frozenset[str]
    negations: int

    @classmethod
    def of(cls, source: str, text: str) -> _Said:
        plain = _ENUMERATOR.sub("", text)
        words = frozenset(WORD.findall(plain.casefold()))
        named = {name.casefold() for name in NAME.findall(plain)}
        return cls(
            source,
            words,
            frozenset(word for word in words if word in named or not word.isalpha()),
            len(NEGATION.findall(plain)),
        )

    def adds_nothing(self, to: _Said) -> bool:
        """Return whether another message says all that this one says."""
        return (
            self.source == to.source
            and bool(self.words - _INSISTING)
            and self.negations == to.negations
            and self.words - _INSISTING <= to.words
            and (self.values | to.values).isdisjoint(self.words ^ to.words)
        )


class Restated:
    """Which of some messages, numbered from 1, are of sources that say the same again and again.

    Args:
        messages: The source of each message, and its text.
    """

    def __init__(self, messages: Iterable[tuple[str, str]]) -> None:
        self._said = [_Said.of(*message) for message in messages]

    def times(self, numbers: Sequence[int]) -> int:
        """Return how often the sources of messages say the same; 0 if one of them is not restated."""
        counts = enriched("restatements", lambda: [self._times(number) for number in numbers], lambda: [0])
        return max(counts, default=0) if all(count >= RESTATED for count in counts) else 0

    def once_a_source(self, statements: Iterable[Statement]) -> list[Statement]:
        """Leave out statements that add nothing to restatements of the same source that were quoted before."""
        kept: list[Statement] = []
        quoted: list[_Said] = []
        for statement in statements:
            is_restated = bool(self.times(statement.quoted))
            said = [self._said[number - 1] for number in statement.quoted] if self._said else []
            if is_restated and _are_quoted(said, quoted):
                continue
            quoted += said
            kept.append(statement)
        return kept

    def _times(self, number: int) -> int:
        if number > len(self._said):  # the cause of an answer, or all were left out because of a defect
            return 0
        one = self._said[number - 1]
        return sum(one.adds_nothing(other) or other.adds_nothing(one) for other in self._said)


def _are_quoted(said: Sequence[_Said], quoted: Sequence[_Said]) -> bool:
    """Return whether messages add nothing to those that were quoted before; False if a defect hides that."""
    return enriched(
        "restatements", lambda: all(any(one.adds_nothing(other) for other in quoted) for one in said), lambda: False
    )


def restated(messages: Sequence[tuple[str, str]]) -> Restated:
    """Return which of some messages are restated: none of them if a defect keeps that from being known.

    Args:
        messages: The source of each message, and its text.
    """
    return enriched("restatements", lambda: Restated(messages), lambda: Restated(()))
