"""The ranking: what the layers of some nodes hold, put in order for one question.

Pure functions of arrays, the one place that says what a score is made of. Which nodes are searched is decided before,
and what is shown of the best afterwards.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.lexemes import WINDOW_WEIGHTS
from neurigraph_pipelines.model import Role
from neurigraph_pipelines.retrieval.layers import ROLES, MetadataLayer
from neurigraph_pipelines.retrieval.postings import Floats, Numbers, Postings

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

FADING = (7.0, 90.0)
"""Days after which what lies outside of a period counts a third as much: half the period's length within these bounds,
since one without a beginning, as in "before the move", would take decades."""

COMPARED = 1_000
"""So many passages that an estimate puts first are compared exactly, with the best by each signal by which they are
scaled. With real embeddings 300 do (see ``signs``); with mere noise around one topic recall at 10 is 0.975."""

_DAY = 86_400.0
_STEPS = np.array(list(WINDOW_WEIGHTS))
_STEP_WEIGHTS = np.array(list(WINDOW_WEIGHTS.values()))
_NONE = np.zeros((0, 2), np.int32)


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
        explain: Say what the scores are made of.
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
    explain: bool = False


class Ranked(NamedTuple):
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


def rarities(occurrences: Sequence[int], passages: int) -> NDArray[Any]:
    """How rare lexemes are that occur in so many of all passages: the inverse document frequency of BM25."""
    counts = np.array(occurrences, np.float64)
    return np.log1p((np.maximum(passages - counts, 0) + 0.5) / (counts + 0.5))


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
        sizes = np.array([(layer.passages, layer.records, layer.places, layer.messages) for layer in layers]).T
        firsts = np.cumsum(sizes, axis=1) - sizes
        self.passages, self.records, self.places, self.messages = sizes.sum(axis=1).tolist()
        self.first_passage, self.first_record, self.first_place, _ = firsts.tolist()
        # What counts from 0 in each layer counts on from layer to layer.
        numbers = np.concatenate([layer.numbers for layer in layers], axis=1)
        self.record, self.place, self.message = numbers + np.repeat(firsts[1:], sizes[0], axis=1)
        self.record_ids = [*chain.from_iterable(layer.record_ids for layer in layers)]
        self.role = np.concatenate([layer.role for layer in layers])
        self.occurred = np.concatenate([layer.occurred for layer in layers])
        self.boost = WEIGHTS["name"] * np.repeat(boosts, sizes[1])
        self.period = WEIGHTS["period"] * self._nearness_to_periods()

    def best(self) -> tuple[list[Ranked], list[Ranked]]:
        known = self._known_records()
        eligible = self._eligible_passages() & known[self.record]
        shown = known & ~self._superseded()
        ranked = eligible & shown[self.record]
        lexical, likeness = self._lexical(), self._likeness_of_passages()
        boosts = {
            "speaker": WEIGHTS["speaker"] * self._said_by_asked(),
            "user": WEIGHTS["user"] * (self.role == ROLES[Role.USER]),
            "period": self.period[self.record],
        }
        signals, score = self._mixed(lexical, likeness, boosts, eligible, ranked)
        if self._compare_the_likeliest(likeness, signals, score):
            signals, score = self._mixed(lexical, likeness, boosts, eligible, ranked)
        parts = signals | boosts if self.asked.explain else {}
        return self._best_records(score, shown), self._best_messages(score, parts)

    def _mixed(
        self,
        lexical: NDArray[Any],
        likeness: NDArray[Any],
        boosts: dict[str, NDArray[Any]],
        eligible: NDArray[Any],
        ranked: NDArray[Any],
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
        """The signals of all passages, and their scores."""
        lexical, own, window = _scaled([lexical, *likeness.T], eligible, least=[0.0, NEAR, NEAR])
        signals = {"window_lexical": lexical, "dense": own, "window_dense": window}
        score = sum(WEIGHTS[name] * signal for name, signal in signals.items()) + sum(boosts.values())
        return signals, np.where(ranked, score, -np.inf)

    def _likeness_of_passages(self) -> NDArray[Any]:
        """Cosines of passages and of their windows, ``(passages, 2)``; of big layers estimates."""
        if (vector := self.asked.passage_vector) is None:
            return np.zeros((self.passages, 2))
        return np.concatenate(
            [
                _products(layer.passage_vectors, vector) if layer.signs is None else layer.signs.estimate(vector)
                for layer in self.layers
            ]
        )

    def _compare_the_likeliest(
        self, likeness: NDArray[Any], signals: dict[str, NDArray[Any]], score: NDArray[Any]
    ) -> bool:
        """Put cosines in the place of estimates for all that may be found; says whether there were any.

        Among them are the best by each signal, by which it is scaled.
        """
        if self.asked.passage_vector is None or all(layer.signs is None for layer in self.layers):
            return False
        likely = score >= _least(score, COMPARED + self.asked.message_limit)
        for name in ("dense", "window_dense"):
            likely |= (signals[name] > 0) & (signals[name] >= _least(signals[name], COMPARED // 10))
        for layer, first in zip(self.layers, self.first_passage, strict=True):
            if layer.signs is not None:
                rows = np.flatnonzero(likely[first : first + layer.passages])
                likeness[first + rows] = _products(layer.passage_vectors[rows], self.asked.passage_vector)
        return True

    def _best_records(self, passage_score: NDArray[Any], shown: NDArray[Any]) -> list[Ranked]:
        passage = np.full(len(shown), -np.inf)
        np.maximum.at(passage, self.record, passage_score)
        if self.asked.speaker is not None:
            shown = shown & np.isfinite(passage)
        dense = np.zeros(self.records)
        if (vector := self.asked.vector) is not None:
            dense = np.concatenate([_products(layer.vectors, vector) for layer in self.layers])
        lexical = self._summary_lexical()
        scaled_dense, scaled_lexical = _scaled([dense, lexical], shown, least=[NEAR, 0.0])
        score = (
            WEIGHTS["best_passage"] * np.maximum(passage, 0.0)
            + WEIGHTS["summary_dense"] * scaled_dense
            + WEIGHTS["summary_lexical"] * scaled_lexical
            + (1 - WEIGHTS["best_passage"]) * self.period
            + self.boost
        )
        score = np.where(shown, score, -np.inf)
        found = np.flatnonzero(score >= _least(score, self.asked.limit))
        ids = [self.record_ids[record] for record in found.tolist()]
        occurred = (-self.occurred[found]).tolist()
        order = sorted(zip((-score[found]).tolist(), occurred, ids, found.tolist(), strict=True))
        parts = {}
        if self.asked.explain:
            compared = np.concatenate([layer.has_vector for layer in self.layers]) & (self.asked.vector is not None)
            parts = {
                "passage": passage,
                "summary_dense": np.where(compared, dense, np.nan),
                "summary_lexical": lexical,
                "boost": self.boost,
                "period": self.period,
            }
        return _ranked([row for *_, row in order[: self.asked.limit]], self.first_record, score, parts)

    def _best_messages(self, score: NDArray[Any], parts: dict[str, NDArray[Any]]) -> list[Ranked]:
        """The best passage of each message; of equals the first."""
        best = np.full(self.messages, -np.inf)
        np.maximum.at(best, self.message, score)
        found = np.flatnonzero(score >= _least(best, self.asked.message_limit))
        ids = [self.record_ids[record] for record in self.record[found].tolist()]
        messages = self.message[found].tolist()
        rows: dict[int, int] = {}
        for *_, row, message in sorted(zip((-score[found]).tolist(), ids, found.tolist(), messages, strict=True)):
            rows.setdefault(message, row)
        return _ranked(list(rows.values())[: self.asked.message_limit], self.first_passage, score, parts)

    def _known_records(self) -> NDArray[Any]:
        """What the question's conditions leave: the rest has no part in the ranking at all."""
        known = np.ones(self.records, bool)
        if self.asked.at is not None:
            known &= np.concatenate([layer.created for layer in self.layers]) <= self.asked.at
        if self.asked.occurred_after is not None:
            known &= self.occurred >= self.asked.occurred_after
        if self.asked.occurred_before is not None:
            known &= self.occurred < self.asked.occurred_before
        if self.asked.source_kinds:
            known &= np.isin(np.concatenate([layer.source_kinds for layer in self.layers]), self.asked.source_kinds)
        return known

    def _superseded(self) -> NDArray[Any]:
        """Records that are ranked beside the rest, and not shown."""
        superseded = np.zeros(self.records, bool)
        if not self.asked.include_superseded:
            for layer, first in zip(self.layers, self.first_record, strict=True):
                for record in layer.superseded(self.asked.at):
                    superseded[first + record] = True
        return superseded

    def _eligible_passages(self) -> NDArray[Any]:
        eligible = np.concatenate([layer.is_eligible for layer in self.layers])
        if self.asked.speaker is not None:
            eligible &= self._is_said_by([self.asked.speaker])
        return eligible

    def _said_by_asked(self) -> NDArray[Any]:
        said = self._is_said_by(self.asked.speakers)
        if self.asked.role is not None:
            said |= self.role == ROLES[self.asked.role]
        return said

    def _is_said_by(self, names: Sequence[str]) -> NDArray[Any]:
        if not names:
            return np.zeros(self.passages, bool)
        return np.concatenate([layer.is_said_by(names) for layer in self.layers])

    def _nearness_to_periods(self) -> NDArray[Any]:
        """1 in a period, fading with the days between, sooner for a short than for a long one; a day does not count."""
        nearness = np.zeros(len(self.occurred))
        for first, following in self.asked.periods:
            days = np.maximum(np.maximum(first - self.occurred, self.occurred - following) / _DAY - 1, 0)
            fading = np.clip((following - first) / (2 * _DAY), *FADING)
            nearness = np.maximum(nearness, np.exp(-days / fading))
        return nearness

    def _lexical(self) -> NDArray[Any]:
        """BM25 of each passage's window: an occurrence counts in the windows around it too.

        Few windows hold anything of a question, so only the cells of lexeme and place that do are worked on.
        """
        places, rarity = self.places, self._rarity()
        cell, occurs = self._cells([layer.lexemes for layer in self.layers], self.first_place, places)
        windows = np.bincount(
            np.subtract.outer(cell, _STEPS).ravel(),
            np.multiply.outer(occurs, _STEP_WEIGHTS).ravel(),
            minlength=len(rarity) * places,
        )
        cell = np.flatnonzero(windows > 0)
        lexeme, at = np.divmod(cell, places)
        length = np.concatenate([layer.window_length for layer in self.layers])[at]
        frequency = windows[cell]
        penalty = K1 * (1 - B + B * length / self.asked.mean_length)
        scores = rarity[lexeme] * frequency * (K1 + 1) / (frequency + penalty)
        lexical: NDArray[Any] = np.bincount(at, scores, minlength=places)[self.place]
        return lexical

    def _summary_lexical(self) -> NDArray[Any]:
        """How much of the question's rarity stands in the titles, summaries and keywords of the records."""
        records, rarity = self.records, self._rarity()
        cell, _ = self._cells([layer.record_lexemes for layer in self.layers], self.first_record, records)
        lexeme, record = np.divmod(np.unique(cell), records)
        return np.bincount(record, rarity[lexeme] / rarity.sum(), minlength=records)

    def _cells(self, postings: Sequence[Postings], firsts: Sequence[int], rows: int) -> tuple[Numbers, NDArray[Any]]:
        """Where the question's lexemes stand, and how often: all rows for the first, then all rows for the next."""
        begins, occurrences = [0], [_NONE]
        for one, first in zip(postings, firsts, strict=True):
            for lexeme, found in one.of(self.asked.lexemes):
                begins.append(lexeme * rows + first)
                occurrences.append(found)
        row, frequency = np.concatenate(occurrences).T
        return row + np.repeat(begins, [len(found) for found in occurrences]), frequency

    def _rarity(self) -> NDArray[Any]:
        return np.fromiter(self.asked.lexemes.values(), np.float64)


def _products(vectors: Floats, vector: Floats) -> NDArray[Any]:
    """Cosines of unit vectors, in the shape in which they stand in a layer."""
    # A product for each row, not one of matrices, whose threads wait for each other when other work is going on.
    products: NDArray[Any] = np.vecdot(vectors, vector[: vectors.shape[-1]].astype(np.float32))
    return products


def _scaled(signals: Sequence[NDArray[Any]], counted: NDArray[Any], least: Sequence[float]) -> NDArray[Any]:
    """Each 0..1, where 1 is the best of what counts, and never less than its ``least``; 0 where it does not count."""
    scaled = np.array(signals, np.float64)
    np.maximum(scaled, 0.0, out=scaled)
    scaled *= counted
    scaled /= np.maximum(scaled.max(axis=1, initial=sys.float_info.min), least)[:, None]
    return scaled


def _least(score: NDArray[Any], count: int) -> float:
    """The lowest of the ``count`` highest scores; what is left out of a ranking, -inf, lies below any."""
    if count == 0:
        return np.inf
    least = np.partition(score, -count)[-count] if count < len(score) else -np.inf
    return max(float(least), -sys.float_info.max)


def _ranked(
    numbers: list[int], firsts: Sequence[int], score: NDArray[Any], parts: Mapping[str, NDArray[Any]]
) -> list[Ranked]:
    """Rows as they are handed out; a part that is not finite is none."""
    ranked = []
    for number in numbers:
        node = bisect_right(firsts, number) - 1
        made_of = {name: float(part[number]) if isfinite(part[number]) else None for name, part in parts.items()}
        ranked.append(Ranked(node, number - firsts[node], float(score[number]), made_of))
    return ranked
