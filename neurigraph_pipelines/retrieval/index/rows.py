"""The rows of several metadata layers, numbered one after another, in the form that the ranking takes.

Scores belong to ``query.signals`` and ``query.rank``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import Voice
from neurigraph_pipelines.retrieval.index.layers import APART, MetadataLayer, places_of
from neurigraph_pipelines.retrieval.index.postings import Keys, Numbers, Occurrences, Postings, together
from neurigraph_pipelines.text.calendar_words import MONTHS, SEASONS, WEEKDAYS
from neurigraph_pipelines.text.lexemes import ASKING, WINDOW_LENGTH, Lexer
from neurigraph_pipelines.text.search_segments import VOICES, lexeme_keys

_WORDS_FOR_TIMES = (
    *("yesterday", "today", "tonight", "tomorrow", "last", "next", "past", "ago", "recently", "soon"),
    *("day", "week", "weekend", "month", "year", "morning", "evening", "night", *MONTHS, *WEEKDAYS, *SEASONS),
)
_TIMES = lexeme_keys(frozenset(Lexer().lexemes(" ".join(_WORDS_FOR_TIMES))))
_ASKING = lexeme_keys([ASKING])

_JOINED, _LOOKED_UP_IN_EACH = 100_000, 2
"""Up to so many occurrences are joined over all layers, so that one lookup finds a lexeme in all; but the first lookups
are made in each layer, because rows that a write outdates are used no more often."""


class Rows:
    """The records, passages and places of one or more layers, each numbered one after another.

    Attributes:
        first_record: The row of each layer's first record; there are ``records`` in all.
        first_passage: The row of each layer's first passage; there are ``passages`` in all.
        first_place: The first place of each layer; there are ``places`` in all.
        messages: The number of messages.
        record: The row of each passage's record.
        place: The place of each passage.
        message: The number of each passage's message.
    """

    def __init__(self, layers: Sequence[MetadataLayer]) -> None:
        self.layers = layers
        self._lookups = 0
        self._latest: tuple[bytes, Occurrences] | None = None
        passages = np.array([layer.passages for layer in layers])
        self.first_passage, self.passages = _firsts(passages.tolist())
        self.first_record, self.records = _firsts(layer.records for layer in layers)
        self.record: Numbers = self.column("record") + np.repeat(self.first_record, passages)
        self.place = places_of(self.record, self.column("seq"), np.repeat(np.cumsum(passages > 0) - 1, passages))
        lasts = np.cumsum(passages)[passages > 0] - 1
        self._places = np.zeros_like(passages)
        self._places[passages > 0] = np.diff(self.place[lasts] + APART, prepend=0)
        self.first_place, self.places = _firsts(self._places.tolist())
        is_next = (np.diff(self.record, prepend=-1) != 0) | (np.diff(self.column("first_message"), prepend=0) != 0)
        self.message: Numbers = np.cumsum(is_next) - 1
        self.messages = int(np.count_nonzero(is_next))

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the passages of all layers."""
        return np.concatenate([layer.passage_columns[name] for layer in self.layers])

    @cached_property
    def present(self) -> NDArray[np.bool_] | None:
        """A mask of the records that another layer does not have in a newer form; None if all are current."""
        if all(layer.gone is None for layer in self.layers):
            return None
        gone = [layer.gone if layer.gone is not None else np.zeros(layer.records, bool) for layer in self.layers]
        return ~np.concatenate(gone)

    @cached_property
    def layer_of_place(self) -> NDArray[np.intp]:
        """The number of the layer of each place; -1 for those of passages that another layer has in a newer form."""
        numbers = np.repeat(np.arange(len(self.layers)), self._places)
        for layer, first in zip(self.layers, self.first_passage, strict=True):
            numbers[self.place[first + layer.gone_passages]] = -1
        return numbers

    def occurrences(self, keys: Keys) -> Occurrences:
        """Return where some lexemes occur. The result is computed once for the same lexemes."""
        asked, latest = keys.tobytes(), self._latest  # read once, because threads share rows
        if latest is not None and latest[0] == asked:
            return latest[1]
        self._lookups += 1
        joint = self._joint if self._lookups > _LOOKED_UP_IN_EACH else None
        found = together(joint.found(keys)) if joint is not None else self._found_in_each(keys)
        self._latest = asked, found
        return found

    @cached_property
    def _joint(self) -> Postings | None:
        """The postings of all layers as one, in the rows of ``Occurrences``; None if joining them took too long."""
        if sum(len(layer.lexemes.occurrences) for layer in self.layers) > _JOINED:
            return None
        rows = [layer.lexemes.occurrences[:, 0] for layer in self.layers]
        layers = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
        return Postings.joined([layer.lexemes for layer in self.layers], self._numbered(layers, np.concatenate(rows)))

    def _found_in_each(self, keys: Keys) -> Occurrences:
        """Return where lexemes occur, as ``_joint`` would."""
        found = [(number, *one) for number, layer in enumerate(self.layers) for one in layer.lexemes.found(keys)]
        joint = together([(place, one) for _, place, one in found])
        layers = np.repeat([number for number, *_ in found], [len(one) for *_, one in found]).astype(np.intp)
        return joint._replace(row=self._numbered(layers, joint.row))

    def _numbered(self, layers: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return rows of the postings of some layers as those of all."""
        places, of_passages, of_records = self._offsets[:, layers]
        numbered: NDArray[np.int32] = np.where(rows < places, of_passages, of_records) + rows
        return numbered

    @cached_property
    def _offsets(self) -> NDArray[np.int32]:
        """For each layer, its places, and the sums for rows of passages and of records: ``(3, layers)``."""
        of_records = self.places + np.array(self.first_record) - self._places
        return np.array([self._places, self.first_place, of_records], np.int32)

    @cached_property
    def current_passages(self) -> int:
        """The number of passages without those that another layer has in a newer form."""
        return self.passages - sum(len(layer.gone_passages) for layer in self.layers)

    @cached_property
    def mean_window(self) -> float:
        """The mean number of lexemes in the window of a passage, at least 1."""
        lengths = self.lengths if self.present is None else self.lengths[self.present]
        return max(WINDOW_LENGTH * float(lengths.sum()) / max(self.current_passages, 1), 1.0)

    @cached_property
    def voice(self) -> NDArray[np.int8]:
        """Who speaks in each passage."""
        return self.column("voice")

    @cached_property
    def of_assistants(self) -> NDArray[np.intp]:
        """The passages that an assistant said."""
        return np.flatnonzero(self.voice == VOICES.index(Voice.ASSISTANT))

    @cached_property
    def answering(self) -> NDArray[np.int8]:
        """1 for a passage after a question, -1 for one that ends with a question, 0 where an assistant takes part."""
        asked = self.asking
        answering: NDArray[np.int8] = (asked[self.place - 1] - asked[self.place]) * self._among_people
        return answering

    @cached_property
    def asking(self) -> NDArray[np.int8]:
        """1 for the places of passages that end with a question."""
        return self._places_of(_ASKING)

    @cached_property
    def of_long_messages(self) -> NDArray[np.bool_]:
        """Whether each passage is one of several of a message."""
        begins = np.diff(self.message, prepend=-1, append=-1) != 0
        several: NDArray[np.bool_] = ~(begins[:-1] & begins[1:])
        return several

    @cached_property
    def telling_times(self) -> NDArray[np.int8]:
        """1 for a passage with a word for a time, 0 for others and where an assistant takes part."""
        telling: NDArray[np.int8] = self._places_of(_TIMES)[self.place] * self._among_people
        return telling

    @cached_property
    def _among_people(self) -> NDArray[np.int8]:
        """0 for the passages of records in which an assistant takes part, 1 for others."""
        people = np.ones(self.records, np.int8)
        people[self.record[self.of_assistants]] = 0
        among: NDArray[np.int8] = people[self.record]
        return among

    def _places_of(self, lexemes: Keys) -> NDArray[np.int8]:
        """Return 1 for the places of passages with any of these lexemes, and 0 for other places."""
        places = np.zeros(self.places, np.int8)
        for layer, first, count in zip(self.layers, self.first_place, self._places.tolist(), strict=True):
            for _, found in layer.lexemes.found(lexemes):
                rows = found[:, 0]
                places[first + rows[rows < count]] = 1  # the rows after those are of records
        return places

    @cached_property
    def role(self) -> NDArray[np.int8]:
        """The role of each passage's author."""
        return self.column("role")

    @cached_property
    def window_length(self) -> NDArray[np.float32]:
        """The number of lexemes in the window at each place."""
        lengths = np.zeros(self.places, np.float32)
        lengths[self.place] = self.column("window_length")
        return lengths

    @cached_property
    def occurred(self) -> NDArray[np.float64]:
        """When each record happened, in seconds since 1970."""
        return np.concatenate([layer.occurred for layer in self.layers])

    @cached_property
    def importance(self) -> NDArray[np.float64] | None:
        """How important each record is, from -1 to 1; None if nothing was said of any."""
        said = 2 * np.concatenate([layer.importance for layer in self.layers]) - 1
        return said if said.any() else None

    @cached_property
    def lengths(self) -> NDArray[Any]:
        """The number of lexemes in the passages of each record."""
        return np.concatenate([layer.lengths for layer in self.layers])

    def record_of(self, row: int) -> tuple[MetadataLayer, int]:
        """Return the layer of a record, and its row there."""
        number = bisect_right(self.first_record, row) - 1
        return self.layers[number], row - self.first_record[number]

    def is_said_by(self, names: Sequence[str]) -> NDArray[Any]:
        """Return a mask of the passages whose author, in lower case, is one of these names."""
        if not names:
            return np.zeros(self.passages, bool)
        return np.concatenate([layer.is_said_by(names) for layer in self.layers])


def _firsts(counts: Iterable[int]) -> tuple[list[int], int]:
    """Return where each of some runs begins when they follow each other, and the length of all."""
    *firsts, total = accumulate(counts, initial=0)
    return firsts, total
