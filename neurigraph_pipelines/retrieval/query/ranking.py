"""The ranking: what the layers of some nodes hold, put in order for one question.

Pure functions of arrays, the one place that says what a score is made of. Which nodes are searched is decided before,
and what is shown of the best afterwards.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.retrieval.index.layers import ROLES, MetadataLayer
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.sign_hash import estimates
from neurigraph_pipelines.text.lexemes import WINDOW_WEIGHTS

WEIGHTS = {
    "window_lexical": 0.47,
    "dense": 0.29,
    "window_dense": 0.24,
    "speaker": 0.15,
    "user": 0.07,
    "period": 0.45,
    "best_passage": 0.55,
    "segment_lexical": 0.21,
    "summary_dense": 0.12,
    "summary_lexical": 0.12,
    "name": 0.10,
}
"""The mix of signals, each in 0..1; fitted on LoCoMo and QMSum, on a plateau where 30 % more or less of any changes
little. The first three make a message's score, the next three are added where a message is said by somebody whom the
question is about, or by the user, or in a time that the question names. A record's score is a mix of its best message,
of all that was said in it, and of its summary; ``name`` is added to the records of a node that the question names."""

K1, B = 0.9, 0.75
"""Of BM25 (Robertson and Zaragoza, 2009): how soon another occurrence counts no more, and how much length does."""

NEAR = 0.3
"""The likeness that counts as full where nothing is nearer: the nearest is noise then, and not what was asked for."""

FADING = (7.0, 90.0)
"""Days after which what lies outside of a period counts a third as much: half the period's length within these bounds,
since one without a beginning, as in "before the move", would take decades."""

EXACT_PASSAGES = 2_000
"""So many are all compared with a question; of more, their signs first."""

COMPARED = 300
"""So many passages that an estimate puts first are compared exactly, and two for each message that is wanted, with the
likeliest, by which all are scaled. On LoCoMo and QMSum recall is as when all are compared; of noise less than one in a
hundred is missed (ADR 0019)."""

SIGNALS = ("window_lexical", "dense", "window_dense")
BOOSTS = ("speaker", "user", "period")
_MIX = np.array([[WEIGHTS[name]] for name in SIGNALS])
_LEAST = np.array([0.0, NEAR, NEAR])
_LEAST_OF_RECORDS = np.array([NEAR, 0.0, 0.0])
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
    the question names. A record's score is a mix of its best message, of BM25 of all that was said in it, and of its
    summary.

    Args:
        boosts: Of each layer: how surely the question names its node, 0 to 1.
    """
    return _Ranking(layers, boosts, asked).best() if layers else ([], [])


class _Ranking:
    """One question to some layers: the rows of all of them stand one after another.

    What a question does not ask for is not worked out, and a mask of what counts is None where all does: of a few
    thousand rows it is the number of steps that takes the time.
    """

    def __init__(self, layers: Sequence[MetadataLayer], boosts: Sequence[float], asked: Asked) -> None:
        self.layers = layers
        self.asked = asked
        self.first_passage, self.passages = _firsts(layer.passages for layer in layers)
        self.first_record, self.records = _firsts(layer.records for layer in layers)
        self.first_place, self.places = _firsts(layer.places for layer in layers)
        first_message, self.messages = _firsts(layer.messages for layer in layers)
        # What counts from 0 in each layer counts on from layer to layer.
        firsts = np.repeat(
            [self.first_record, self.first_place, first_message], [layer.passages for layer in layers], axis=1
        )
        self.record, self.place, self.message = np.concatenate([layer.numbers for layer in layers], axis=1) + firsts
        self.boost = WEIGHTS["name"] * np.repeat(boosts, [layer.records for layer in layers])
        self.period = WEIGHTS["period"] * self._nearness_to_periods() if asked.periods else None
        self.rarity = np.fromiter(asked.lexemes.values(), np.float64)
        vector = asked.passage_vector if asked.passage_vector is not None else np.zeros(0)
        self.vector: Floats = vector.astype(np.float32)  # empty where nothing can be compared

    def best(self) -> tuple[list[Ranked], list[Ranked]]:
        self.known = known = self._known_records()
        shown = _both(known, self._not_superseded())
        self.eligible = _both(self._eligible_passages(), known[self.record] if known is not None else None)
        self.ranked = _both(self.eligible, shown[self.record] if shown is not None else None)
        self.boosts = self._boosts()
        self._look_up()
        found = np.empty((len(SIGNALS), self.passages))
        found[0] = self._lexical()
        estimated = self._compare(found)
        signals, score = self._mixed(found)
        if estimated:
            self._compare_the_likeliest(found, signals, score, estimated)
            signals, score = self._mixed(found)
        parts = {}
        if self.asked.explain:
            none = np.zeros(self.passages)
            parts = dict(zip(SIGNALS, signals, strict=True)) | dict.fromkeys(BOOSTS, none) | self.boosts
        return self._best_records(score, shown), self._best_messages(score, parts)

    def _mixed(self, found: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The signals of all passages, each in 0..1, and their scores."""
        signals = _scaled(found, self.eligible, _LEAST)
        score: NDArray[Any] = (_MIX * signals).sum(axis=0)
        for boost in self.boosts.values():
            score += boost
        if self.ranked is not None:
            score[~self.ranked] = -np.inf
        return signals, score

    def _boosts(self) -> dict[str, NDArray[Any]]:
        role = np.concatenate([layer.role for layer in self.layers])
        boosts = {"user": WEIGHTS["user"] * (role == ROLES[Role.USER])}
        if self.asked.speakers or self.asked.role is not None:
            said = self._is_said_by(self.asked.speakers)
            if self.asked.role is not None:
                said |= role == ROLES[self.asked.role]
            boosts["speaker"] = WEIGHTS["speaker"] * said
        if self.period is not None:
            boosts["period"] = self.period[self.record]
        return boosts

    def _compare(self, found: NDArray[Any]) -> list[int]:
        """Put cosines of passages and of their windows in place, of many an estimate for both; says of which layers."""
        found[1:] = 0
        alike: dict[int, list[int]] = defaultdict(list)
        for number, (layer, first) in enumerate(zip(self.layers, self.first_passage, strict=True)):
            if not len(self.vector):
                continue
            if layer.signs is not None and self.passages > EXACT_PASSAGES:
                alike[layer.signs.dimensions].append(number)
            else:
                found[1:, first : first + layer.passages] = _products(layer.passage_vectors, self.vector).T
        for numbers in alike.values():
            estimated = estimates([signs for n in numbers if (signs := self.layers[n].signs)], self.vector)
            begin = 0
            for number in numbers:
                first, passages = self.first_passage[number], self.layers[number].passages
                found[1:, first : first + passages] = estimated[begin : begin + passages]
                begin += passages
        return [number for numbers in alike.values() for number in numbers]

    def _compare_the_likeliest(
        self, found: NDArray[Any], signals: NDArray[Any], score: NDArray[Any], estimated: Sequence[int]
    ) -> None:
        """Put cosines in the place of estimates for all that may be found.

        Among them are the best by each signal, by which it is scaled.
        """
        likely = score >= _least(score, COMPARED + 2 * self.asked.message_limit)
        likely |= signals[1] >= max(_least(signals[1], COMPARED // 3), sys.float_info.min)
        rows = np.flatnonzero(likely)
        ends = np.searchsorted(rows, [*self.first_passage, self.passages]).tolist()
        for number in estimated:
            these = rows[ends[number] : ends[number + 1]]
            if len(these):
                vectors = self.layers[number].passage_vectors[these - self.first_passage[number]]
                found[1:, these] = _products(vectors, self.vector).T

    def _best_records(self, passage_score: NDArray[Any], shown: NDArray[Any] | None) -> list[Ranked]:
        passage = np.full(self.records, -np.inf)
        np.maximum.at(passage, self.record, passage_score)
        if self.asked.speaker is not None:
            shown = _both(shown, np.isfinite(passage))
        found = np.zeros((3, self.records))
        if self.asked.vector is not None:
            vector = self.asked.vector.astype(np.float32)
            np.concatenate([_products(layer.vectors, vector) for layer in self.layers], out=found[0])
        found[1] = self._summary_lexical()
        found[2] = self._segment_lexical()
        dense, lexical, segment = _scaled(found, shown, _LEAST_OF_RECORDS)
        score = (
            WEIGHTS["best_passage"] * np.maximum(passage, 0.0)
            + WEIGHTS["segment_lexical"] * segment
            + WEIGHTS["summary_dense"] * dense
            + WEIGHTS["summary_lexical"] * lexical
            + self.boost
        )
        if self.period is not None:
            score += (1 - WEIGHTS["best_passage"]) * self.period
        if shown is not None:
            score[~shown] = -np.inf
        parts = {}
        if self.asked.explain:
            compared = np.concatenate([layer.has_vector for layer in self.layers]) & (self.asked.vector is not None)
            parts = {
                "passage": passage,
                "segment_lexical": found[2],
                "summary_dense": np.where(compared, found[0], np.nan),
                "summary_lexical": found[1],
                "boost": self.boost,
                "period": self.period if self.period is not None else np.zeros(self.records),
            }
        order = []
        for row in np.flatnonzero(score >= _least(score, self.asked.limit)).tolist():
            layer, record = self._record_of(row)
            order.append((-float(score[row]), -float(layer.occurred[record]), layer.record_ids[record], row))
        return _ranked([row for *_, row in sorted(order)[: self.asked.limit]], self.first_record, score, parts)

    def _best_messages(self, score: NDArray[Any], parts: dict[str, NDArray[Any]]) -> list[Ranked]:
        """The best passage of each message; of equals the first."""
        best = np.full(self.messages, -np.inf)
        np.maximum.at(best, self.message, score)
        order = []
        for row in np.flatnonzero(score >= _least(best, self.asked.message_limit)).tolist():
            layer, record = self._record_of(int(self.record[row]))
            order.append((-float(score[row]), layer.record_ids[record], row))
        rows: dict[int, int] = {}
        for *_, row in sorted(order):
            rows.setdefault(int(self.message[row]), row)
        return _ranked(list(rows.values())[: self.asked.message_limit], self.first_passage, score, parts)

    def _record_of(self, row: int) -> tuple[MetadataLayer, int]:
        number = bisect_right(self.first_record, row) - 1
        return self.layers[number], row - self.first_record[number]

    @cached_property
    def occurred(self) -> NDArray[Any]:
        return np.concatenate([layer.occurred for layer in self.layers])

    def _known_records(self) -> NDArray[Any] | None:
        """What the question's conditions leave: the rest has no part in the ranking at all."""
        known = None
        if self.asked.at is not None:
            known = np.concatenate([layer.created for layer in self.layers]) <= self.asked.at
        if self.asked.occurred_after is not None:
            known = _both(known, self.occurred >= self.asked.occurred_after)
        if self.asked.occurred_before is not None:
            known = _both(known, self.occurred < self.asked.occurred_before)
        if self.asked.source_kinds:
            kinds = np.concatenate([layer.source_kinds for layer in self.layers])
            known = _both(known, np.isin(kinds, self.asked.source_kinds))
        return known

    def _not_superseded(self) -> NDArray[Any] | None:
        """Records that others took the place of are ranked beside the rest, and not shown."""
        if self.asked.include_superseded:
            return None
        superseded = [
            first + record
            for layer, first in zip(self.layers, self.first_record, strict=True)
            for record in layer.superseded(self.asked.at)
        ]
        if not superseded:
            return None
        shown = np.ones(self.records, bool)
        shown[superseded] = False
        return shown

    def _eligible_passages(self) -> NDArray[Any] | None:
        eligible = None
        if not all(layer.are_eligible for layer in self.layers):
            eligible = np.concatenate([layer.is_eligible for layer in self.layers])
        if self.asked.speaker is not None:
            eligible = _both(eligible, self._is_said_by([self.asked.speaker]))
        return eligible

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
        cell, frequency = self.said
        windows = np.bincount(
            np.subtract.outer(cell, _STEPS).ravel(),
            np.multiply.outer(frequency, _STEP_WEIGHTS).ravel(),
            minlength=len(self.rarity) * self.places,
        )
        cell = np.flatnonzero(windows > 0)
        lexeme, place = np.divmod(cell, self.places)
        length = np.concatenate([layer.window_length for layer in self.layers])[place] / self.asked.mean_length
        scores = _bm25(self.rarity[lexeme], windows[cell], length)
        lexical: NDArray[Any] = np.bincount(place, scores, minlength=self.places)[self.place]
        return lexical

    def _segment_lexical(self) -> NDArray[Any]:
        """BM25 of all that was said in each record, whose length counts beside the mean of those that have a part."""
        cell, frequency = self.said
        lexeme, place = np.divmod(cell, self.places)
        record = np.zeros(self.places, np.intp)
        record[self.place] = self.record
        segments = np.bincount(lexeme * self.records + record[place], frequency)
        cell = np.flatnonzero(segments)
        lexeme, in_record = np.divmod(cell, self.records)
        length = np.concatenate([layer.lengths for layer in self.layers])
        counted = length[self.known] if self.known is not None else length
        mean = max(counted.sum() / max(len(counted), 1), 1.0)
        scores = _bm25(self.rarity[lexeme], segments[cell], length[in_record] / mean)
        return np.bincount(in_record, scores, minlength=self.records)

    def _summary_lexical(self) -> NDArray[Any]:
        """How much of the question's rarity stands in the titles, summaries and keywords of the records."""
        lexeme, record = self.summarised
        return np.bincount(record, self.rarity[lexeme] / self.rarity.sum(), minlength=self.records)

    def _look_up(self) -> None:
        """Where the question's lexemes stand.

        Sets ``said``, of passages: the cell, which is all places for the first lexeme, then all for the next; and how
        often; and ``summarised``, of records: the number of the lexeme, and the row.
        """
        slices, occurrences = [], [_NONE]
        for layer, place, record in zip(self.layers, self.first_place, self.first_record, strict=True):
            for lexeme, found in layer.lexemes.of(self.asked.lexemes):
                slices.append((lexeme, layer.places, lexeme * self.places + place, record - layer.places))
                occurrences.append(found)
        row, frequency = np.concatenate(occurrences).T
        counts = [len(found) for found in occurrences[1:]]
        lexeme, places, cell, record = np.repeat(np.array(slices, np.intp).reshape(-1, 4), counts, axis=0).T
        in_summary = row >= places
        is_said = ~in_summary
        self.said = (row + cell)[is_said], frequency[is_said]
        self.summarised = lexeme[in_summary], (row + record)[in_summary]


def _firsts(counts: Iterable[int]) -> tuple[list[int], int]:
    """Where each of some begins that stand one after another, and how many there are in all."""
    *firsts, total = accumulate(counts, initial=0)
    return firsts, total


def _both(one: NDArray[Any] | None, other: NDArray[Any] | None) -> NDArray[Any] | None:
    """What two masks leave; None is one that leaves all."""
    if one is None or other is None:
        return other if one is None else one
    both: NDArray[Any] = one & other
    return both


def _bm25(rarity: NDArray[Any], frequency: NDArray[Any], length: NDArray[Any]) -> NDArray[Any]:
    """What occurrences are worth in texts of such lengths, of which 1 is the mean."""
    worth: NDArray[Any] = rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length))
    return worth


def _products(vectors: Floats, vector: Floats) -> NDArray[Any]:
    """Cosines of unit vectors, in the shape in which they stand in a layer."""
    # A product for each row, not one of matrices, whose threads wait for each other when other work is going on.
    products: NDArray[Any] = np.vecdot(vectors, vector[: vectors.shape[-1]])
    return products


def _scaled(found: NDArray[Any], counted: NDArray[Any] | None, least: NDArray[Any]) -> NDArray[Any]:
    """Each 0..1, where 1 is the best of what counts, and never less than its ``least``; 0 where it does not count."""
    scaled: NDArray[Any] = np.maximum(found, 0.0)
    if counted is not None:
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
