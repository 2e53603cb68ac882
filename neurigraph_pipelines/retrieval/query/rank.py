"""Step 6, rank: the records and messages of the loaded layers in order of their scores.

Pure functions of arrays; ``signals`` computes the signals, and ``weights`` says what each counts.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.authority import (
    COMPARED_FOR_REPETITION,
    FIRST,
    are_in_person,
    repeats_itself,
    shares_left,
    unrepeated,
)
from neurigraph_pipelines.retrieval.query.gathering import Gathered
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion
from neurigraph_pipelines.retrieval.query.passage_vectors import PassageVectors
from neurigraph_pipelines.retrieval.query.several import spread
from neurigraph_pipelines.retrieval.query.signals import (
    LexicalSignals,
    both,
    compare_exactly,
    compare_passages,
    lowest_of_best,
    nearness_named,
    products,
    scaled,
)
from neurigraph_pipelines.retrieval.query.weights import (
    ASSISTANTS,
    BOOSTS,
    IMPORTANCE,
    NEAR,
    SIGNALS,
    WEIGHTS,
    compared_of,
)
from neurigraph_pipelines.text.search_segments import ROLES

_MIX = np.array([[WEIGHTS[name]] for name in SIGNALS])
_FULL = np.array([0.0, NEAR])
_FULL_OF_RECORDS = np.array([NEAR, 0.0, 0.0])


@dataclass(frozen=True, slots=True)
class RankingQuery:
    """A question in the form that the ranking takes.

    Attributes:
        lexemes: Each with its inverse document frequency in all that may be searched.
        vector: The embedding to compare with those of records; None if it cannot be compared.
        passage_vector: The embedding to compare with those of passages; None likewise.
        speaker: Only passages by this speaker, in lower case.
        speakers: The speakers whom the question names, in lower case.
    """

    parsed: ParsedQuestion
    lexemes: dict[str, float]
    vector: Floats | None = None
    passage_vector: Floats | None = None
    speaker: str | None = None
    speakers: tuple[str, ...] = ()


class Ranked(NamedTuple):
    """A record or message in the ranking.

    Attributes:
        node: The number of its layer.
        row: The row of the record, or of the message's best passage, in that layer.
        parts: The components of the score, if asked for.
    """

    node: int
    row: int
    score: float
    parts: dict[str, float | None]


def ranking_query(gathered: Gathered, rarities: NDArray[Any]) -> RankingQuery:
    """Return the question in the form that the ranking takes."""
    view, lexemes = gathered.view, dict(zip(gathered.parsed.lexemes, rarities.tolist(), strict=True))
    vectors = view.record_vector, view.passage_vector
    return RankingQuery(gathered.parsed, lexemes, *vectors, gathered.said_by, view.speakers)


@measured("search.rank")
def rank(
    rows: Rows,
    boosts: Sequence[float],
    query: RankingQuery,
    vectors: PassageVectors | None = None,
    lent: NDArray[Any] | None = None,
) -> tuple[list[Ranked], list[Ranked], NDArray[Any]]:
    """Return the best records and the best messages of some layers, best first, and the score of each passage.

    A message's score is a mix of two signals, each scaled to 0..1 by the best of what is ranked: BM25 of its
    window, in which messages around it count less with their distance, and those before it more than those after,
    because an answer is found by its question; and the cosine of the message behind those before it. Bounded
    boosts are added to that, never filters: for the speaker whom the question is about, for the user's own words, for
    an answer to a question with the same words, for the time and for the number that it names; what an assistant said
    counts less, and so does a part of a long message. A record's score is a mix of its best message, of
    BM25 of all its passages, and of its summary.

    Args:
        boosts: How surely the question names the node of each layer, 0 to 1.
        vectors: Those of the passages; by default those that the layers hold.
        lent: The sum that facts add to the score of each passage.

    Raises:
        VectorsGoneError: Such vectors cannot be read any more.
    """
    return _Ranking(rows, boosts, query, vectors if vectors is not None else PassageVectors(rows), lent).best()


class _Ranking:
    """The ranking of one question.

    Parts that the question does not ask for are skipped, and a mask that leaves everything is None: for a few thousand
    rows the number of steps takes the time.
    """

    def __init__(
        self,
        rows: Rows,
        boosts: Sequence[float],
        query: RankingQuery,
        vectors: PassageVectors,
        lent: NDArray[Any] | None,
    ) -> None:
        self.layers = rows.layers
        self.vectors = vectors
        self.query, self.parsed, self.question = query, query.parsed, query.parsed.question
        self.rows = rows
        self.boost = WEIGHTS["name"] * np.repeat(boosts, [layer.records for layer in rows.layers])
        periods = [(start.timestamp(), end.timestamp()) for start, end in self.question.periods]
        self.period = WEIGHTS["period"] * nearness_named(rows.occurred, periods) if periods else None
        vector = query.passage_vector if query.passage_vector is not None else np.zeros(0)
        self.vector: Floats = vector.astype(np.float32)  # empty if nothing can be compared
        self.known = self._known_records()
        self.shown = both(self.known, self._not_superseded())
        known, shown, record = self.known, self.shown, self.rows.record
        said = rows.is_said_by([query.speaker]) if query.speaker is not None else None
        self.eligible = both(said, known[record] if known is not None else None)
        self.ranked = both(self.eligible, shown[record] if shown is not None else None)
        self.lexical = LexicalSignals(rows, query.lexemes)
        self.summaries = self.lexical.summaries()
        self.boosts = self._boosts() | ({"fact": lent} if lent is not None else {})

    def best(self) -> tuple[list[Ranked], list[Ranked], NDArray[Any]]:
        lexical = self.lexical
        found = np.empty((len(SIGNALS), self.rows.passages))
        found[0] = lexical.windows()
        estimated = compare_passages(self.rows, self.vectors, self.vector, found[1])
        signals, score = self._mixed(found)
        if estimated:
            most = compared_of(self.rows.passages, are_read=not self.vectors.are_held(estimated))
            likely = score >= lowest_of_best(score, most + 2 * self.question.message_limit)
            likely |= signals[1] >= max(lowest_of_best(signals[1], most // 3), sys.float_info.min)
            compare_exactly(self.rows, self.vectors, self.vector, likely, estimated, found[1])
            signals, score = self._mixed(found)
        parts = {}
        if self.question.explain:
            none = np.zeros(self.rows.passages)
            parts = dict(zip(SIGNALS, signals, strict=True)) | dict.fromkeys(BOOSTS, none) | self.boosts
        left = shares_left(score, lexical.coverage, self.rows.voice)
        if left is not None:
            score = left * score
        return self._best_records(score, left), self._best_messages(score, parts), score

    def _mixed(self, found: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the signals of all passages, each in 0..1, and their scores."""
        signals = scaled(found, self.eligible, _FULL)
        score: NDArray[Any] = (_MIX * signals).sum(axis=0)
        for boost in self.boosts.values():
            score += boost
        if self.parsed.role is not Role.ASSISTANT:
            score[self.rows.of_assistants] *= ASSISTANTS
        if self.ranked is not None:
            score[~self.ranked] = -np.inf
        return signals, score

    def _boosts(self) -> dict[str, NDArray[Any]]:
        role, voice = self.rows.role, self.rows.voice
        boosts = {"user": WEIGHTS["user"] * ((role == ROLES.index(Role.USER)) & are_in_person(voice))}
        if self.query.speakers or self.parsed.role is not None:
            said = self.rows.is_said_by(self.query.speakers)
            if self.parsed.role is not None:
                said |= role == ROLES.index(self.parsed.role)
            boosts["speaker"] = WEIGHTS["speaker"] * said
        if self.period is not None:
            boosts["period"] = self.period[self.rows.record]
        boosts["answer"] = WEIGHTS["answer"] * self.rows.answering
        boosts["asked"] = WEIGHTS["asked"] * self.lexical.coverage_before()
        boosts["part"] = WEIGHTS["part"] * self.rows.of_long_messages
        if self.parsed.asks_when:
            boosts["time"] = WEIGHTS["time"] * self.rows.telling_times
        if (numbered := self.lexical.numbered()) is not None:
            boosts["number"] = WEIGHTS["number"] * numbered
        boosts["summary"] = WEIGHTS["summary"] * self.summaries[self.rows.record]
        return boosts

    def _best_records(self, passage_score: NDArray[Any], left: NDArray[Any] | None) -> list[Ranked]:
        rows, query, shown = self.rows, self.query, self.shown
        passage = np.full(rows.records, -np.inf)
        np.maximum.at(passage, rows.record, passage_score)
        if query.speaker is not None:
            shown = both(shown, np.isfinite(passage))
        found = np.zeros((3, rows.records))
        if query.vector is not None:
            vector = query.vector.astype(np.float32)
            np.concatenate([products(layer.vectors, vector) for layer in self.layers], out=found[0])
        found[1], found[2] = self.summaries, self.lexical.segments(self.known)
        dense, summary, segment = scaled(found, shown, _FULL_OF_RECORDS)
        score = (
            WEIGHTS["best_passage"] * np.maximum(passage, 0.0)
            + WEIGHTS["segment_lexical"] * segment
            + WEIGHTS["summary_dense"] * dense
            + WEIGHTS["summary_lexical"] * summary
            + self.boost
        )
        if self.period is not None:
            score += (1 - WEIGHTS["best_passage"]) * self.period
        if left is not None:  # a record yields as the one of its passages that yields least
            most = np.zeros(rows.records)
            np.maximum.at(most, rows.record, left)
            score *= np.where(most > 0, most, 1.0)
        if rows.importance is not None:
            score *= 1 + IMPORTANCE * rows.importance
        if shown is not None:
            score[~shown] = -np.inf
        order = []
        for row in np.flatnonzero(score >= lowest_of_best(score, self.question.limit)).tolist():
            layer, record = rows.record_of(row)
            order.append((-float(score[row]), -float(layer.occurred[record]), layer.record_ids[record], row))
        parts = self._parts_of_records(passage, found) if self.question.explain else {}
        return _ranked([row for *_, row in sorted(order)[: self.question.limit]], rows.first_record, score, parts)

    def _parts_of_records(self, passage: NDArray[Any], found: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the components of the scores of all records."""
        compared = np.concatenate([layer.has_vector for layer in self.layers]) & (self.query.vector is not None)
        return {
            "passage": passage,
            "segment_lexical": found[2],
            "summary_dense": np.where(compared, found[0], np.nan),
            "summary_lexical": found[1],
            "boost": self.boost,
            "period": self.period if self.period is not None else np.zeros(self.rows.records),
        }

    def _best_messages(self, score: NDArray[Any], parts: dict[str, NDArray[Any]]) -> list[Ranked]:
        """Return the best passage of each message; of equals the first."""
        best = np.full(self.rows.messages, -np.inf)
        np.maximum.at(best, self.rows.message, score)
        limit = self.question.message_limit
        first, several = self._first_passages(best, score, limit), self.parsed.asks_for_several
        repeats = repeats_itself(
            lambda: self.vectors.of(np.array(first[:FIRST], np.intp)), self._sources_of(first[:FIRST])
        )
        if several or repeats:  # more messages fill the places that others lose
            first = self._first_passages(best, score, limit + COMPARED_FOR_REPETITION)
            score = score.copy()
            if several:
                score[first] = spread(score[first], self.rows.record[first])
                first.sort(key=lambda row: -score[row])
            if repeats:
                score[first] = unrepeated(
                    score[first], self.vectors.of(np.array(first, np.intp)), self._sources_of(first)
                )
                first.sort(key=lambda row: -score[row])
        return _ranked(first[:limit], self.rows.first_passage, score, parts)

    def _first_passages(self, best: NDArray[Any], score: NDArray[Any], limit: int) -> list[int]:
        """Return the rows of the best passages of the first ``limit`` messages."""
        rows, order = self.rows, []
        for row in np.flatnonzero(score >= lowest_of_best(best, limit)).tolist():
            layer, record = rows.record_of(int(rows.record[row]))
            order.append((-float(score[row]), layer.record_ids[record], row))
        passages: dict[int, int] = {}
        for *_, row in sorted(order):
            passages.setdefault(int(rows.message[row]), row)
        return list(passages.values())[:limit]

    def _sources_of(self, passages: Sequence[int]) -> list[str]:
        """Return the origin of each of some passages: a persona, or else its source."""
        places = [self.rows.record_of(int(self.rows.record[row])) for row in passages]
        return [layer.handed_in_by(record) for layer, record in places]

    def _known_records(self) -> NDArray[Any] | None:
        """Return a mask of the records that meet the question's conditions; the others do not count in the ranking."""
        query, known = self.question, self.rows.present
        if query.at is not None:
            known = both(known, np.concatenate([layer.created for layer in self.layers]) <= query.at.timestamp())
        if query.occurred_after is not None:
            known = both(known, self.rows.occurred >= query.occurred_after.timestamp())
        if query.occurred_before is not None:
            known = both(known, self.rows.occurred < query.occurred_before.timestamp())
        if query.source_kinds:
            kinds = np.concatenate([layer.source_kinds for layer in self.layers])
            known = both(known, np.isin(kinds, [kind.value for kind in query.source_kinds]))
        if query.record_ids:
            wanted = list(map(str, query.record_ids))
            known = both(known, np.isin(np.concatenate([layer.record_ids for layer in self.layers]), wanted))
        return known

    def _not_superseded(self) -> NDArray[Any] | None:
        """Return a mask of the records to show; superseded ones count in the ranking and are not shown."""
        if self.question.include_superseded:
            return None
        at = self.question.at.timestamp() if self.question.at is not None else None
        superseded = [
            first + record
            for layer, first in zip(self.layers, self.rows.first_record, strict=True)
            for record in layer.superseded(at)
        ]
        if not superseded:
            return None
        shown = np.ones(self.rows.records, bool)
        shown[superseded] = False
        return shown


def _ranked(
    numbers: list[int], firsts: Sequence[int], score: NDArray[Any], parts: Mapping[str, NDArray[Any]]
) -> list[Ranked]:
    """Return rows by layer, with their scores; a component that is not finite is None."""
    ranked = []
    for number in numbers:
        node = bisect_right(firsts, number) - 1
        made_of = {name: float(part[number]) if isfinite(part[number]) else None for name, part in parts.items()}
        ranked.append(Ranked(node, number - firsts[node], float(score[number]), made_of))
    return ranked
