"""A metadata layer decoded from the database's bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.model import RECORD_DIMENSIONS
from neurigraph_pipelines.retrieval.index.columns import records_of
from neurigraph_pipelines.retrieval.index.facts import FactRows, NodeFacts
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.query.found import found_messages
from neurigraph_pipelines.retrieval.query.load import LoadedNode
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.rank import Ranked, RankingQuery, rank
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.retrieval.query.weights import WEIGHTS
from neurigraph_pipelines.text.lexemes import ASKING
from neurigraph_pipelines.text.search_segments import (
    ROLES,
    VOICES,
    SearchSegment,
    Spoken,
    Words,
    lexeme_keys,
    pack_vectors,
)
from neurigraph_pipelines.text.statement_key import statement_key
from tests.unit.test_shells import id_of, row_of

FIRST, SECOND, SOURCE, FILE, NO_FILE = UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4), UUID(int=0)
NOTHING: dict[str, Any] = dict.fromkeys(
    (
        "model",
        "horizon",
        "records",
        "titles",
        "summaries",
        "source_names",
        "origins",
        "source_kinds",
        "file_states",
        "superseded",
        "record_lexemes",
        "summary_vectors",
        "segments",
        "vectors",
    )
)

ORIGIN: dict[str, Any] = {
    "persona_id": "p1",
    "key_id": "k1",
    "received_through": "api",
    "received_at": "2025-03-01T09:00:00+00:00",
}
UNKNOWN = json.dumps(dict.fromkeys(ORIGIN))


def sent(numbers: list[float], width: int, kind: str) -> bytes:
    """A vector as the database sends it: four bytes, then its numbers in network order."""
    return struct.pack(">HH", width, 0) + np.pad(np.array(numbers, kind), (0, width - len(numbers))).tobytes()


def record(record_id: UUID, occurred: float = 5.0, file: UUID = FILE, importance: float = 0.5) -> bytes:
    times = struct.pack(">dd", occurred, 7.0)
    return record_id.bytes + times + SOURCE.bytes + file.bytes + struct.pack(">f", importance)


def passage(
    seq: int,
    message: int,
    words: dict[str, int],
    role: int = 1,
    *,
    voice: int = 0,
    statement: int = 0,
    labels: tuple[str | None, str | None, str | None] = (None, None, None),
) -> Spoken:
    """A passage with its words and how often each occurs; the labels are its author, its section and an external id."""
    counts = Words(list(words), list(words.values()), sum(words.values()))
    known: tuple[Any, Any] = (ROLES[role], VOICES[voice])
    return Spoken(seq, message, *labels, *known, counts, statement, 10.0)


def layer_of(row: dict[str, Any]) -> MetadataLayer:
    return MetadataLayer(records_of(row), row["model"], row["horizon"])


def segments_of(*records: Sequence[Spoken], vectors: Sequence[Any] | None = None) -> dict[str, list[bytes]]:
    """The columns of the database for the passages of some records; without vectors they are pending."""
    packed = (
        [pack_vectors(np.array(one, np.float32)) for one in vectors] if vectors is not None else [b""] * len(records)
    )
    return {"segments": [SearchSegment.of(one).content for one in records], "vectors": packed}


@pytest.fixture
def layer() -> MetadataLayer:
    """Two records; between two passages of the second much is missing."""
    return layer_of(
        {
            "model": "words",
            "horizon": 700,
            "records": record(FIRST) + record(SECOND, file=NO_FILE),
            "titles": ["one", "two"],
            "summaries": ["First.", "Second."],
            "source_names": ["talk", None],
            "origins": [json.dumps(ORIGIN), UNKNOWN],
            "file_states": ["dormant", None],
            "source_kinds": ["conversation", "upload"],
            "superseded": [None, json.dumps([[10, 20], [30, None]])],
            "record_lexemes": ["boat oil", ""],
            "summary_vectors": sent([1.0], RECORD_DIMENSIONS, ">f4") + sent([], RECORD_DIMENSIONS, ">f4"),
            **segments_of(
                [
                    passage(1, 1, {"boat": 4}, labels=("bob", "One", "f1")),
                    passage(2, 1, {}, labels=(None, "Two", "f2")),
                ],
                [
                    passage(3, 2, {"boat": 2, "oil": 3}, 2, voice=2, statement=-7, labels=("ana", None, "s3")),
                    passage(4, 3, {}, 0, voice=5, statement=-7, labels=(None, None, "s4")),
                    passage(90, 9, {"far": 1}, labels=("bob", "page 9", "s90")),
                ],
                vectors=[[[n / 4, n / 8, 0, 0] for n in numbers] for numbers in ((3, 1), (2, 4, 0))],
            ),
        }
    )


def test_passages_without_words_repeat_nothing(layer: MetadataLayer) -> None:
    """They have the key 0, as those of which no key is known."""
    assert layer.statement.tolist() == [0, 0, -7, -7, 0]
    node = LoadedNode(Anchor(0, str(id_of(0)), None, "bob", "words", 1.0, 1.0), layer)
    ranked = [Ranked(0, row, 1.0, {}) for row in range(layer.passages)]
    found = found_messages([node], ranked, Shells(row_of()), None, str)
    assert [(one.statement, one.restated) for one in found] == [(0, 1), (0, 1), (-7, 2), (-7, 2), (0, 1)]
    assert [statement_key(text) for text in ("", "! …", "_ *")] == [0] * 3


def one_record(**more: Any) -> dict[str, Any]:
    """The row of a node with one record, without its passages."""
    texts = {name: [""] for name in ("titles", "summaries", "record_lexemes")} | {"origins": [UNKNOWN]}
    absent = {name: [None] for name in ("source_names", "superseded", "file_states")}
    rest = {"records": record(FIRST), "source_kinds": ["conversation"], "summary_vectors": sent([], 4, ">f4")}
    return NOTHING | texts | absent | rest | more


def test_damaged_segment_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The record is found by its summary, and the log says what to do."""
    said = segments_of([passage(1, 1, {"rope": 1})], vectors=[[[1, 0]]])
    for damage in ({"segments": [said["segments"][0][:-1]]}, {"vectors": [said["vectors"][0][:-1]]}):
        layer = layer_of(one_record(record_lexemes=["boat"]) | said | damage)
        assert (layer.records, layer.passages) == (1, 0)
        assert len(layer.lexemes.found(lexeme_keys(["boat", "rope"]))) == 1
        assert "run neurigraph admin verify" in caplog.messages.pop()
        caplog.clear()
    whole = layer_of(one_record() | said)
    assert (whole.passages, caplog.messages) == (1, [])


@pytest.mark.parametrize(
    ("voice", "answering", "telling"), [(6, [-1, 1, -1, 0, 1], [0, 1, 0, 0, 0]), (2, [0] * 5, [0] * 5)]
)
def test_answers_and_times(voice: int, answering: list[int], telling: list[int]) -> None:
    """Said are a question, an answer, two questions in a row and an answer, the last perhaps by an assistant."""
    voices = (6, 6, 6, 6, voice)
    words = ({ASKING: 0}, {"boat": 1, "yesterday": 1}, {ASKING: 0}, {ASKING: 0}, {"rope": 1})
    said = layer_of(one_record() | segments_of([passage(n, n, words[n - 1], voice=voices[n - 1]) for n in range(1, 6)]))
    rows = Rows([said])
    assert (rows.answering.tolist(), rows.telling_times.tolist()) == (answering, telling)
    for query, asks_when in (("When did the zebra come?", True), ("zebra", False)):
        asked = parse(Question(query, limit=1, message_limit=5, explain=True), "english")
        _, messages, _ = rank(rows, [0.0], RankingQuery(asked, {"zebra": 1.0}))
        parts = {message.row: (message.parts["answer"], message.parts["time"]) for message in messages}
        assert parts == {
            row: (WEIGHTS["answer"] * answering[row], asks_when * WEIGHTS["time"] * telling[row]) for row in range(5)
        }
    assert said.lengths.tolist() == [3], "the mark is no word"


@given(
    happened=st.datetimes(datetime(1970, 1, 1), datetime(2200, 12, 31, 23, 59, 59, 999_999), timezones=st.just(UTC))  # noqa: DTZ001
)
def test_a_record_happened_at_the_microsecond_that_is_stored(happened: datetime) -> None:
    seconds = (happened - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) / 1_000_000
    row = one_record(records=record(FIRST, seconds), segments=[b""], vectors=[b""])
    assert layer_of(row).stored_record(0).occurred_at == happened


def test_facts_lend_to_the_passages_that_state_them(layer: MetadataLayer) -> None:
    facts = [(UUID(int=10), FIRST, 1, 1), (UUID(int=11), SECOND, 2, 3), (UUID(int=12), UUID(int=9), 1, 1)]
    row = {
        "version": "v",
        "fact_ids": b"".join(fact.bytes for fact, *_ in facts),
        "record_ids": b"".join(record.bytes for _, record, *_ in facts),
        "messages": b"".join(struct.pack(">ii", first, last) for *_, first, last in facts),
        "statements": ["boat oil", "oil", "boat"],
    }
    node = NodeFacts(row, str.split)
    none = NodeFacts(
        {"version": "", "fact_ids": None, "record_ids": None, "messages": None, "statements": None}, str.split
    )
    rows = FactRows(Rows([layer]), [none, node])
    assert (len(none), rows.facts) == (0, 3)
    assert [rows.fact_id(number) for number in range(3)] == [str(fact) for fact, *_ in facts]
    pairs = list(zip(rows.fact.tolist(), rows.passage.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 2), (1, 3)], "both parts of one message; no passage states the third"
    covered = rows.coverage(lexeme_keys(["boat", "zebra", "oil"]), np.array([1.0, 1.0, 2.0]))
    assert covered.tolist() == [0.75, 0.5, 0.25]
    assert rows.best_in(covered).tolist() == [0.75, 0.75, 0.5, 0.5, 0.0]
    assert rows.best_of(np.array([0.1, 0.2, -np.inf, 0.4, 0.5])).tolist() == [0.2, 0.4, -np.inf]
    assert FactRows(Rows([layer]), []).best_in(np.zeros(0)).tolist() == [0.0] * 5
