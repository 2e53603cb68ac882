"""The signals of the ranking: BM25 and cosines of the rows of several layers. ``rank`` mixes them to scores.

Pure functions of arrays.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.sign_hash import estimates
from neurigraph_pipelines.retrieval.query.passage_vectors import PassageVectors
from neurigraph_pipelines.text.lexemes import WINDOW_WEIGHTS
from neurigraph_pipelines.text.search_segments import lexeme_keys

K1, B = 0.9, 0.75
"""Parameters of BM25 (Robertson and Zaragoza, 2009): saturation of repeated occurrences, and weight of the length."""

FADING = (7.0, 90.0)
"""Days outside of a period after which a record counts a third as much: half the period's length, within these bounds,
since a period without a beginning, as in "before the move", would take decades."""

EXACT_PASSAGES = 2_000
"""Up to so many passages are all compared with a question; of more, the sign hashes are compared first."""

_FEW = 10
"""In up to so many passages a word with a digit is a name, such as an order's number; a year is mostly in more."""

_DAY = 86_400.0
_STEPS = np.array(list(WINDOW_WEIGHTS))
_STEP_WEIGHTS = np.array(list(WINDOW_WEIGHTS.values()))


class LexicalSignals:
    """BM25 of the lexemes of a question.

    Few windows hold any lexeme of a question, so only the cells of lexeme and place that do are worked on.

    Args:
        rarities: The lexemes of the question, each with its inverse document frequency.
    """

    def __init__(self, rows: Rows, rarities: Mapping[str, float]) -> None:
        self._rows = rows
        self._rarity = np.fromiter(rarities.values(), np.float64)
        self._has_digit = np.array([any(map(str.isdigit, word)) for word in rarities], bool)
        lexeme, row, frequency = rows.occurrences(lexeme_keys(rarities))
        in_summary = row >= rows.places
        in_passage = ~in_summary
        # A cell is a lexeme and a place: first all places of the first lexeme, then all of the next.
        self._in_passages = (lexeme * rows.places + row)[in_passage], frequency[in_passage]
        self._in_summaries = lexeme[in_summary], row[in_summary] - rows.places

    def windows(self) -> NDArray[Any]:
        """Return BM25 of each passage's window: an occurrence also counts in the windows around its passage."""
        rows = self._rows
        cell, frequency = self._in_passages
        windows = np.bincount(
            np.subtract.outer(cell, _STEPS).ravel(),
            np.multiply.outer(frequency, _STEP_WEIGHTS).ravel(),
            minlength=len(self._rarity) * rows.places,
        )
        cell = np.flatnonzero(windows > 0)
        lexeme, place = np.divmod(cell, rows.places)
        length = rows.window_length[place] / rows.mean_window
        scores = _bm25(self._rarity[lexeme], windows[cell], length)
        lexical: NDArray[Any] = np.bincount(place, scores, minlength=rows.places)[rows.place]
        return lexical

    def coverage(self) -> NDArray[Any]:
        """Return the share of the question's rarity in the words of each passage itself, however often they occur."""
        covered: NDArray[Any] = self._covered[self._rows.place]
        return covered

    def numbered(self) -> NDArray[np.bool_] | None:
        """Return a mask of the passages with a word of the question that has a digit and is in few; None if none is."""
        if not self._has_digit.any():
            return None
        lexeme, place = np.divmod(self._in_passages[0], self._rows.places)
        names = self._has_digit & (np.bincount(lexeme, minlength=len(self._rarity)) <= _FEW)
        holds = np.zeros(self._rows.places, bool)
        holds[place[names[lexeme]]] = True
        return holds[self._rows.place]

    def coverage_before(self) -> NDArray[Any]:
        """Return the coverage of the passage before, where that passage ends with a question; 0 elsewhere."""
        before: NDArray[Any] = (self._covered * self._rows.asking)[self._rows.place - 1]
        return before

    @cached_property
    def _covered(self) -> NDArray[Any]:
        """The share of the question's rarity at each place."""
        lexeme, place = np.divmod(self._in_passages[0], self._rows.places)
        covered: NDArray[Any] = np.bincount(place, self._rarity[lexeme], minlength=self._rows.places)
        return covered / max(float(self._rarity.sum()), sys.float_info.min)

    def segments(self, counted: NDArray[Any] | None) -> NDArray[Any]:
        """Return BM25 of all passages of each record together.

        Args:
            counted: The records whose mean length counts; None for all.
        """
        rows = self._rows
        cell, frequency = self._in_passages
        lexeme, place = np.divmod(cell, rows.places)
        record = np.zeros(rows.places, np.intp)
        record[rows.place] = rows.record
        segments = np.bincount(lexeme * rows.records + record[place], frequency)
        cell = np.flatnonzero(segments)
        lexeme, in_record = np.divmod(cell, rows.records)
        length = rows.lengths
        of_counted = length[counted] if counted is not None else length
        mean = max(of_counted.sum() / max(len(of_counted), 1), 1.0)
        scores = _bm25(self._rarity[lexeme], segments[cell], length[in_record] / mean)
        return np.bincount(in_record, scores, minlength=rows.records)

    def summaries(self) -> NDArray[Any]:
        """Return the share of the question's rarity in the title, summary and keywords of each record."""
        lexeme, record = self._in_summaries
        return np.bincount(record, self._rarity[lexeme] / self._rarity.sum(), minlength=self._rows.records)


def compare_passages(rows: Rows, vectors: PassageVectors, vector: Floats, out: NDArray[Any]) -> list[int]:
    """Write the cosines of passages to ``out``; of many, and of those whose vectors are not in memory, estimates.

    Returns:
        The numbers of the layers whose cosines are estimates.
    """
    out[:] = 0
    hashed: dict[int, list[int]] = defaultdict(list)
    for number, (layer, first) in enumerate(zip(rows.layers, rows.first_passage, strict=True)):
        if not len(vector):
            continue
        held = vectors.held(number)
        if layer.sign_hashes is not None and (held is None or rows.passages > EXACT_PASSAGES):
            hashed[layer.sign_hashes.dimensions].append(number)
        elif held is not None:
            out[first : first + layer.passages] = products(held, vector)
    for numbers in hashed.values():
        estimated = estimates([hashes for n in numbers if (hashes := rows.layers[n].sign_hashes)], vector)
        begin = 0
        for number in numbers:
            first, passages = rows.first_passage[number], rows.layers[number].passages
            out[first : first + passages] = estimated[begin : begin + passages]
            begin += passages
    return [number for numbers in hashed.values() for number in numbers]


def compare_exactly(
    rows: Rows,
    vectors: PassageVectors,
    vector: Floats,
    likely: NDArray[np.bool_],
    estimated: Sequence[int],
    out: NDArray[Any],
) -> None:
    """Replace the estimates of likely passages in ``out`` by their cosines."""
    if len(estimated) < len(rows.layers):
        are_estimated = np.zeros(len(rows.layers), bool)
        are_estimated[estimated] = True
        likely = likely & np.repeat(are_estimated, [layer.passages for layer in rows.layers])
    passages = np.flatnonzero(likely)
    out[passages] = products(vectors.of(passages), vector)


def nearness_named(occurred: NDArray[Any], periods: Sequence[tuple[float, float]]) -> NDArray[Any]:
    """Return ``nearness_to_periods``, or zeros if a defect keeps it from being computed."""
    return enriched("times named", lambda: nearness_to_periods(occurred, periods), lambda: np.zeros(len(occurred)))


def nearness_to_periods(occurred: NDArray[Any], periods: Sequence[tuple[float, float]]) -> NDArray[Any]:
    """Return 1 within a period, fading with the days between, faster for short periods; one day does not count.

    Args:
        occurred: Seconds since 1970.
        periods: Likewise, each with its start and the first moment after it.
    """
    nearness = np.zeros(len(occurred))
    for first, following in periods:
        days = np.maximum(np.maximum(first - occurred, occurred - following) / _DAY - 1, 0)
        fading = np.clip((following - first) / (2 * _DAY), *FADING)
        nearness = np.maximum(nearness, np.exp(-days / fading))
    return nearness


def products(vectors: Floats, vector: Floats) -> NDArray[Any]:
    """Return the cosines of ``(n, dimensions)`` unit vectors."""
    # One product per row: the threads of a matrix product wait for each other while the machine is busy.
    cosines: NDArray[Any] = np.vecdot(vectors, vector[: vectors.shape[-1]])
    return cosines


def scaled(found: NDArray[Any], counted: NDArray[Any] | None, full: NDArray[Any]) -> NDArray[Any]:
    """Scale each row of signals to 0..1.

    Args:
        found: ``(signals, n)``.
        counted: What counts; the others get 0. None if all do.
        full: The least value of each signal that scales to 1; the best of what counts does if it is higher.
    """
    signals: NDArray[Any] = np.maximum(found, 0.0)
    if counted is not None:
        signals *= counted
    signals /= np.maximum(signals.max(axis=1, initial=sys.float_info.min), full)[:, None]
    return signals


def lowest_of_best(score: NDArray[Any], count: int) -> float:
    """Return the lowest of the ``count`` highest scores; it is above -inf, the score of excluded passages."""
    if count == 0:
        return np.inf
    lowest = np.partition(score, -count)[-count] if count < len(score) else -np.inf
    return max(float(lowest), -sys.float_info.max)


def both(one: NDArray[Any] | None, other: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the intersection of two masks; None is a mask that leaves everything."""
    if one is None or other is None:
        return other if one is None else one
    intersection: NDArray[Any] = one & other
    return intersection


def _bm25(rarity: NDArray[Any], frequency: NDArray[Any], length: NDArray[Any]) -> NDArray[Any]:
    """Return BM25 of occurrences in texts of such lengths, in multiples of the mean length."""
    scores: NDArray[Any] = rarity * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length))
    return scores
