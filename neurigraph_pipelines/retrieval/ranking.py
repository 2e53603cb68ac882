"""The ranking: what the layers of some nodes hold, put in order for one question.

Pure functions of arrays, the one place that says what a score is made of. Which nodes are searched is decided before,
and what is shown of the best afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.lexemes import WINDOW_WEIGHTS
from neurigraph_pipelines.model import Role
from neurigraph_pipelines.retrieval.layers import ROLES, Floats, MetadataLayer, Numbers

WEIGHTS = {
    "window_lexical": 0.47,
    "dense": 0.29,
    "window_dense": 0.24,
    "speaker": 0.15,
    "user": 0.07,
    "period": 0.45,
    "best_passage": 0.70,
    "summary_dense": 0.15,
    "summary_lexical": 0.15,
    "name": 0.15,
}
"""The mix of signals, each in 0..1; fitted on LoCoMo and QMSum, on a plateau where 30 % more or less of any changes
little. The first three make a message's score, the next three are added where a message is said by somebody whom the
question is about, or by the user, or in a time that the question names. A record's score is a mix of its best message
and of its summary; ``name`` is added to the records of a node that the question names."""

K1, B = 0.9, 0.75
"""Of BM25 (Robertson and Zaragoza, 2009): how soon another occurrence counts no more, and how much length does."""

NEAR = 0.3
"""The likeness that counts as full where nothing is nearer: the nearest is noise then, and not what was asked for."""

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the ranking takes it; moments are seconds since 1970.

    Attributes:
        lexemes: With the rarity of each in all that may be searched.
        mean_length: Lexemes of a window, on average.
        vector: Of the question, as wide as those of records; None where nothing can be compared.
        passage_vector: The same for passages.
        at: Only what was known then.
        occurred_after: Only what happened then or later.
        occurred_before: Only what happened before.
        source_kinds: Only what came from those; none named means all.
        speaker: Only passages of whoever bears this name, in lower case.
        speakers: Who the question is about, in lower case.
        role: Whose words it is about.
        periods: Stretches of time that it names.
        include_superseded: Also show records that others have taken the place of.
    """

    lexemes: dict[str, float]
    mean_length: float
    limit: int
    message_limit: int
    vector: Floats | None = None
    passage_vector: Floats | None = None
    at: float | None = None
    occurred_after: float | None = None
    occurred_before: float | None = None
    source_kinds: tuple[str, ...] = ()
    speaker: str | None = None
    speakers: tuple[str, ...] = ()
    role: Role | None = None
    periods: tuple[tuple[float, float], ...] = ()
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A record or a message that was found.

    Attributes:
        node: Which of the searched nodes it lies in.
        row: Which of the records, or of the passages, of its layer it is; of a message its best passage.
        parts: What the score is made of.
    """

    node: int
    row: int
    score: float
    parts: dict[str, float | None]


def rank(layers: Sequence[MetadataLayer], boosts: Sequence[float], asked: Asked) -> tuple[list[Ranked], list[Ranked]]:
    """The best records and the best messages of some nodes, best first.

    A message's score is a mix of three signals, each scaled to 0..1 by the best of what is ranked: BM25 of its window,
    in which what was said around it counts less with its distance, and what was said before counts more than what came
    after, because an answer is found by its question; the cosine of the message; and the cosine of its window. Added to
    that are bounded boosts, never filters: for who the question asks about, for the user's own words, for the time that
    the question names. A record's score is a mix of its best message and of its summary.

    Args:
        boosts: Of each layer: how surely the question names its node, 0 to 1.
    """
    return _Ranking(layers, boosts, asked).best() if layers else ([], [])


class _Ranking:
    """One question to some layers: the rows of all of them stand one after another."""

    def __init__(self, layers: Sequence[MetadataLayer], boosts: Sequence[float], asked: Asked) -> None:
        self.layers = layers
        self.asked = asked
        self.first_record = [0, *accumulate(layer.records for layer in layers)]
        self.first_passage = [0, *accumulate(len(layer.seq) for layer in layers)]
        self.boost = WEIGHTS["name"] * np.repeat(boosts, [layer.records for layer in layers])
        self.record = self._numbered(lambda layer: layer.record, self.first_record)
        self.period = WEIGHTS["period"] * self._nearness_to_periods()

    def best(self) -> tuple[list[Ranked], list[Ranked]]:
        known = self._known_records()
        eligible = self._all(lambda layer: layer.is_eligible) & known[self.record] & self._said_by_speaker()
        shown = known & ~self._superseded()
        signals = {
            "window_lexical": _scaled(self._lexical(), eligible, 0.0),
            "dense": _scaled(self._likeness(lambda layer: layer.own), eligible, NEAR),
            "window_dense": _scaled(self._likeness(lambda layer: layer.windows), eligible, NEAR),
        }
        boosts = {
            "speaker": WEIGHTS["speaker"] * self._said_by_asked(),
            "user": WEIGHTS["user"] * (self._all(lambda layer: layer.role) == ROLES[Role.USER]),
            "period": self.period[self.record],
        }
        score = sum(WEIGHTS[name] * signal for name, signal in signals.items()) + sum(boosts.values())
        score = np.where(eligible & shown[self.record], score, -np.inf)
        return self._best_records(score, shown), self._best_messages(score, signals | boosts)

    def _best_records(self, passage_score: NDArray[Any], shown: NDArray[Any]) -> list[Ranked]:
        best = np.full(len(shown), -np.inf)
        np.maximum.at(best, self.record, passage_score)
        if self.asked.speaker is not None:
            shown = shown & np.isfinite(best)
        passage = np.where(np.isfinite(best), best, 0.0)
        vector = self.asked.vector
        dense = self._all(lambda layer: _products(layer.vectors, vector))
        compared = self._all(lambda layer: layer.has_vector)
        lexical = self._summary_lexical()
        score = (
            WEIGHTS["best_passage"] * passage
            + WEIGHTS["summary_dense"] * _scaled(dense, shown, NEAR)
            + WEIGHTS["summary_lexical"] * _scaled(lexical, shown, 0.0)
            + (1 - WEIGHTS["best_passage"]) * self.period
            + self.boost
        )
        occurred = self._all(lambda layer: layer.occurred)
        found = _highest(np.where(shown, score, -np.inf), self.asked.limit)
        located = [(*self._located(number, self.first_record), number) for number in found]
        located.sort(key=lambda at: (-score[at[2]], -occurred[at[2]], self.layers[at[0]].record_ids[at[1]]))
        return [
            Ranked(
                node,
                row,
                float(score[number]),
                {
                    "passage": float(best[number]) if np.isfinite(best[number]) else None,
                    "summary_dense": float(dense[number]) if vector is not None and compared[number] else None,
                    "summary_lexical": float(lexical[number]),
                    "boost": float(self.boost[number]),
                    "period": float(self.period[number]),
                },
            )
            for node, row, number in located[: self.asked.limit]
        ]

    def _best_messages(self, score: NDArray[Any], parts: dict[str, NDArray[Any]]) -> list[Ranked]:
        """The best passage of each message; of equals the first."""
        first_message = [0, *accumulate(layer.messages for layer in self.layers)]
        message = self._numbered(lambda layer: layer.message, first_message)
        best = np.full(first_message[-1], -np.inf)
        np.maximum.at(best, message, score)
        found = _highest(best, self.asked.message_limit)
        begins = np.searchsorted(message, found)
        ends = np.searchsorted(message, found, side="right")
        numbers = [begin + int(np.argmax(score[begin:end])) for begin, end in zip(begins, ends, strict=True)]
        located = [(*self._located(number, self.first_passage), number) for number in numbers]
        located.sort(key=lambda at: (-score[at[2]], self._record_id(at[0], at[1]), at[2]))
        return [
            Ranked(node, row, float(score[number]), {name: float(part[number]) for name, part in parts.items()})
            for node, row, number in located[: self.asked.message_limit]
        ]

    def _known_records(self) -> NDArray[Any]:
        """What the question's conditions leave: the rest has no part in the ranking at all."""
        known = np.ones(self.first_record[-1], bool)
        if self.asked.at is not None:
            known &= self._all(lambda layer: layer.created) <= self.asked.at
        if self.asked.occurred_after is not None:
            known &= self._all(lambda layer: layer.occurred) >= self.asked.occurred_after
        if self.asked.occurred_before is not None:
            known &= self._all(lambda layer: layer.occurred) < self.asked.occurred_before
        if self.asked.source_kinds:
            known &= np.isin(self._all(lambda layer: layer.source_kinds), self.asked.source_kinds)
        return known

    def _superseded(self) -> NDArray[Any]:
        """Records that are ranked beside the rest, and not shown."""
        superseded = np.zeros(self.first_record[-1], bool)
        if not self.asked.include_superseded:
            for layer, first in zip(self.layers, self.first_record, strict=False):
                superseded[[first + number for number in layer.superseded(self.asked.at)]] = True
        return superseded

    def _said_by_speaker(self) -> NDArray[Any]:
        speaker = self.asked.speaker
        if speaker is None:
            return np.ones(self.first_passage[-1], bool)
        return self._all(lambda layer: layer.is_said_by([speaker]))

    def _said_by_asked(self) -> NDArray[Any]:
        said = self._all(lambda layer: layer.is_said_by(self.asked.speakers))
        if self.asked.role is not None:
            said |= self._all(lambda layer: layer.role) == ROLES[self.asked.role]
        return said

    def _nearness_to_periods(self) -> NDArray[Any]:
        """1 in a period, fading with the days between, sooner for a short than for a long one; a day does not count."""
        occurred = self._all(lambda layer: layer.occurred)
        nearness = np.zeros(len(occurred))
        for first, following in self.asked.periods:
            days = np.maximum(np.maximum(first - occurred, occurred - following) / _DAY - 1, 0)
            nearness = np.maximum(nearness, np.exp(-days / max(7.0, (following - first) / (2 * _DAY))))
        return nearness

    def _lexical(self) -> NDArray[Any]:
        """BM25 of each passage's window: an occurrence counts in the windows around it too."""
        first_place = [0, *accumulate(layer.places for layer in self.layers)]
        places = first_place[-1]
        cells, frequencies = [], []
        for number, lexeme in enumerate(self.asked.lexemes):
            for layer, first in zip(self.layers, first_place, strict=False):
                if (found := layer.lexemes.of(lexeme)) is not None:
                    cells.append(layer.place[found[0]] + (number * places + first))
                    frequencies.append(found[1])
        if not cells:
            return np.zeros(self.first_passage[-1])
        cell, frequency = np.concatenate(cells), np.concatenate(frequencies)
        windows = np.bincount(
            np.concatenate([cell - step for step in WINDOW_WEIGHTS]),
            np.concatenate([weight * frequency for weight in WINDOW_WEIGHTS.values()]),
            minlength=len(self.asked.lexemes) * places,
        ).reshape(len(self.asked.lexemes), places)
        place = self._numbered(lambda layer: layer.place, first_place)
        length = self._all(lambda layer: layer.window_length)
        frequent = windows[:, place]
        rarity = np.fromiter(self.asked.lexemes.values(), np.float64)
        scores = frequent * (K1 + 1) / (frequent + K1 * (1 - B + B * length / self.asked.mean_length))
        lexical: NDArray[Any] = rarity @ scores
        return lexical

    def _summary_lexical(self) -> NDArray[Any]:
        """How much of the question's rarity stands in the titles, summaries and keywords of the records."""
        lexical = np.zeros(self.first_record[-1])
        whole = sum(self.asked.lexemes.values())
        for lexeme, rarity in self.asked.lexemes.items():
            for layer, first in zip(self.layers, self.first_record, strict=False):
                if (found := layer.record_lexemes.of(lexeme)) is not None:
                    lexical[found[0] + first] += rarity / whole
        return lexical

    def _likeness(self, vectors: Callable[[MetadataLayer], Floats]) -> NDArray[Any]:
        return self._all(lambda layer: _products(vectors(layer), self.asked.passage_vector))

    def _record_id(self, node: int, passage: int) -> str:
        layer = self.layers[node]
        return layer.record_ids[int(layer.record[passage])]

    def _all(self, column: Callable[[MetadataLayer], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([column(layer) for layer in self.layers])

    def _numbered(self, column: Callable[[MetadataLayer], Numbers], firsts: Sequence[int]) -> Numbers:
        """A column of numbers that count from 0 in each layer, so that they count on from layer to layer."""
        return np.concatenate([column(layer) + first for layer, first in zip(self.layers, firsts, strict=False)])

    @staticmethod
    def _located(number: int, firsts: Sequence[int]) -> tuple[int, int]:
        node = int(np.searchsorted(firsts, number, side="right")) - 1
        return node, int(number) - firsts[node]


def _products(vectors: Floats, vector: Floats | None) -> NDArray[Any]:
    """Likeness of unit vectors; 0 where there is nothing to compare."""
    if vector is None:
        return np.zeros(len(vectors))
    # Not a product of BLAS, whose threads wait for each other when other work is going on: 3 ms of CPU instead of 0.15.
    products: NDArray[np.float32] = np.einsum("ij,j->i", vectors, vector[: vectors.shape[1]])
    return products.astype(np.float64)


def _scaled(signal: NDArray[Any], counted: NDArray[Any], least: float) -> NDArray[Any]:
    """0..1, where 1 is the best of what counts, and never less than ``least``."""
    best = max(float(np.max(signal, initial=0.0, where=counted)), least)
    return np.maximum(signal, 0.0) / best if best > 0 else np.zeros(len(signal))


def _highest(score: NDArray[Any], count: int) -> Numbers:
    """The rows of the ``count`` highest scores, in any order, with all that equal the lowest of them."""
    found = np.flatnonzero(np.isfinite(score))
    if not 0 < count < len(found):
        return found if count else found[:0]
    least = np.partition(score[found], -count)[-count]
    highest: Numbers = found[score[found] >= least]
    return highest
