"""Readers and offline steps take linear time: each input here took minutes or grew quadratically before.

``python -m benchmarks.growth`` searches for more of them. The limits are processor time, several times the usual, or
several times what a part of the same input took just before: the machine is shared.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from benchmarks.growth import segment_of
from benchmarks.hostile_inputs import name_of
from neurigraph_pipelines.knowledge.cues import StatedFact, find_causes
from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.model import Outline
from neurigraph_pipelines.model.facts import MAX_PER_1000_TOKENS, MAX_SHARE, Fact
from neurigraph_pipelines.retrieval.query.framing import unframed
from neurigraph_pipelines.text.transcript import TranscriptWriter
from resources.extractors import csv_reader
from resources.extractors.grouping import Part
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.prose import sentences
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.chats import chat

SECONDS = 4.0
FOUR_TIMES_AS_LONG = 7.0
"""Most times as long that four times as much may take: 16 would be quadratic."""


@pytest.fixture(scope="module")
def model() -> OfflineLanguageModel:
    """The offline model with its word lists loaded."""
    loaded = OfflineLanguageModel(None)
    loaded.place(segment_of("The doctor of Caroline said that running is good.", None), Outline())
    return loaded


def processor_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def test_csv_with_a_wide_heading() -> None:
    table = b"a," * 25_000 + b"\n" + b"1\n" * 25_000
    found: list[Part] = []
    assert processor_seconds(lambda: found.extend(csv_reader.read(io.BytesIO(table), {}))) < SECONDS
    assert found[-1][1].endswith("a: 1")


def test_endless_sentence() -> None:
    """A message without any break is cut into sentences."""

    def cut() -> Iterator[str]:
        return sentences("a" * 6_000_000)

    assert processor_seconds(lambda: sum(map(len, cut()))) < SECONDS


@pytest.mark.parametrize(
    "part", ["can you ", "\n", " \n", " ", "in order ", "\n a x", "across our ", "the order in which "]
)
def test_framing_of_a_question(part: str) -> None:
    assert processor_seconds(lambda: unframed(part * 40_000)) < SECONDS


def test_sentences_of_one_letter() -> None:
    writer = TranscriptWriter(EstimatedCounter(), 200, 65_536, 6)
    segment = segment_of("a." * 100_000, None)
    assert processor_seconds(lambda: sum(1 for _ in writer.passages(segment))) < SECONDS


def test_thousands_of_speakers(model: OfflineLanguageModel) -> None:
    segment = segment_of("a word with a name. " * 3_000, 20, authors=3_000)
    assert len(segment.speakers) > 1_000
    assert processor_seconds(lambda: model.extract_keywords(segment)) < SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "Le 12 mai, le 13. " * 5_000,
        "Am Montag, dem 25. und am 26. " * 5_000,
        "every Monday, Tuesday and Wednesday, " * 4_000,
        "14 to 16 to 18 to " * 5_000,
        "he moved it, " * 8_000 + "on Friday",
        "1" * 100_000,
        "Ana and Bob no longer " * 5_000,
        "Ana is not Bob's Ana is not my " * 4_000,
    ],
)
def test_thousands_of_dates(model: OfflineLanguageModel, text: str) -> None:
    segment = segment_of(text, None)
    assert processor_seconds(lambda: model.extract_keywords(segment)) < SECONDS


def lives(characters: int) -> str:
    """A text of which every third sentence is a fact."""
    told = (
        f"{name_of(number % 400)} moved to Porto on {number % 28 + 1} March because the rent was {number} euros. "
        f"I told {name_of(number % 300)} that we decided to buy {number} boxes of tea. That is why we were late. "
        for number in range(characters // 100)
    )
    return "".join(told)[:characters]


@pytest.mark.slow
def test_summary_of_half_a_million_tokens(model: OfflineLanguageModel) -> None:
    line = "My coworker Dave said on Friday that plant {} needs {} pumps, and nobody had expected such a number. "
    turns = [("user" if i % 2 else "assistant", line.format(i, i % 13) * 4) for i in range(5_000)]
    quarter = chat(*turns[:1_250])
    before = processor_seconds(lambda: model.summarize(quarter, 200))
    whole = chat(*turns)
    summaries: list[str] = []
    took = processor_seconds(lambda: summaries.append(model.summarize(whole, 200).text))
    assert took < FOUR_TIMES_AS_LONG * before
    assert summaries[0]


@pytest.mark.parametrize(("length", "characters"), [(2_000_000, 300), (500_000, None)])
def test_facts_of_half_a_million_tokens(model: OfflineLanguageModel, length: int, characters: int | None) -> None:
    """In messages of usual length; a quarter of it in a single message."""
    quarter = segment_of(lives(length // 4), characters)
    before = processor_seconds(lambda: model.extract_facts(quarter))
    segment = segment_of(lives(length), characters)
    tokens = sum(message.token_count for message in segment.messages)
    assert tokens > length / 4.5
    found: list[Fact] = []
    assert processor_seconds(lambda: found.extend(model.extract_facts(segment))) < FOUR_TIMES_AS_LONG * before
    assert length / 2_000 < len(found) < MAX_PER_1000_TOKENS * tokens / 1_000 + 1
    assert sum(len(fact.statement.split()) for fact in found) <= MAX_SHARE * len(lives(length).split()) + 100
    said = Said(segment.messages)
    assert processor_seconds(lambda: [fact for fact in found if said.grounds(fact)]) < SECONDS
    told = [StatedFact(uuid4(), fact.statement, fact.first_message, fact.last_message) for fact in found]
    assert processor_seconds(lambda: find_causes(told, segment.messages)) < SECONDS
