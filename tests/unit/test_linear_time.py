"""Readers and offline steps take linear time: each input here took minutes or grew quadratically before.

Times are processor time and are compared with what a part of
the same input takes in the same process: the machine is shared, and may be slow.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from uuid import uuid4

import pytest

from neurigraph_pipelines.faces.api.keys_in_addresses import has_key
from neurigraph_pipelines.inbox.imports import chatgpt, deepseek
from neurigraph_pipelines.knowledge.cues import FactSaid, find_links
from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.model import Outline
from neurigraph_pipelines.model.facts import MAX_PER_1000_TOKENS, MAX_SHARE, ReadFact
from neurigraph_pipelines.retrieval.query.framing import unframed
from neurigraph_pipelines.text.transcript import TranscriptWriter
from resources.extractors import csv_reader
from resources.extractors.grouping import Part
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.prose import sentences
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.long_texts import lives, segment_of

pytestmark = pytest.mark.slow

SECONDS = 4.0
"""Processor time, several times the usual, from which the time of a quarter is measured too."""
FOUR_TIMES_AS_LONG = 7.0
"""Most times as long that four times as much may take: 16 would be quadratic."""
EIGHT_TIMES_AS_LONG = 14.0
"""Most times as long that eight times as much may take: 64 would be quadratic."""


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


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether the work takes a few seconds at most, or grows with its size as linear work does."""
    taken = processor_seconds(lambda: work(size))
    return taken < SECONDS or taken < FOUR_TIMES_AS_LONG * processor_seconds(lambda: work(size // 4))


def test_csv_with_a_wide_heading() -> None:
    found: list[Part] = []

    def read(size: int) -> None:
        found[:] = csv_reader.read(io.BytesIO(b"a," * size + b"\n" + b"1\n" * size), {})

    assert is_linear(read, 25_000)
    assert found[-1][1].endswith("a: 1")


def test_endless_sentence() -> None:
    """A message without any break is cut into sentences."""
    assert is_linear(lambda size: sum(map(len, sentences("a" * size))), 6_000_000)


@pytest.mark.parametrize(
    "part", ["can you ", "\n", " \n", " ", "in order ", "\n a x", "across our ", "the order in which "]
)
def test_framing_of_a_question(part: str) -> None:
    assert is_linear(lambda size: unframed(part * size), 40_000)


def test_sentences_of_one_letter() -> None:
    writer = TranscriptWriter(EstimatedCounter(), 200, 65_536, 6)
    assert is_linear(lambda size: sum(1 for _ in writer.passages(segment_of("a." * size, None))), 100_000)


def test_thousands_of_speakers(model: OfflineLanguageModel) -> None:
    def read(authors: int) -> None:
        segment = segment_of("a word with a name. " * authors, 20, authors=authors)
        assert len(segment.speakers) > authors // 3
        model.extract_keywords(segment)

    assert is_linear(read, 3_000)


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
    assert is_linear(lambda size: model.extract_keywords(segment_of(text[-size:], None)), len(text))


@pytest.mark.slow
def test_summary_of_half_a_million_tokens(model: OfflineLanguageModel) -> None:
    line = "My coworker Dave said on Friday that plant {} needs {} pumps, and nobody had expected such a number. "
    text = "".join(line.format(number, number % 13) * 4 for number in range(5_000))
    eighth, whole = segment_of(text[: len(text) // 8], 400), segment_of(text, 400)
    before = processor_seconds(lambda: model.summarize(eighth, 200))
    summaries: list[str] = []
    took = processor_seconds(lambda: summaries.append(model.summarize(whole, 200).text))
    assert took < EIGHT_TIMES_AS_LONG * before
    assert summaries[0]


@pytest.mark.parametrize(("length", "characters"), [(1_000_000, 300), (500_000, None)])
@pytest.mark.slow
def test_facts_of_a_quarter_of_a_million_tokens(
    model: OfflineLanguageModel, length: int, characters: int | None
) -> None:
    """In messages of usual length; half of it in a single message."""
    eighth, segment = segment_of(lives(length // 8), characters), segment_of(lives(length), characters)
    before = processor_seconds(lambda: model.extract_facts(eighth))
    tokens = sum(message.token_count for message in segment.messages)
    assert tokens > length / 4.5
    found: list[ReadFact] = []
    reading = processor_seconds(lambda: found.extend(model.extract_facts(segment)))
    assert reading < EIGHT_TIMES_AS_LONG * before
    assert length / 2_000 < len(found) < MAX_PER_1000_TOKENS * tokens / 1_000 + 1
    assert sum(len(fact.statement.split()) for fact in found) <= MAX_SHARE * len(lives(length).split()) + 100
    said = Said(segment.messages)
    assert processor_seconds(lambda: [fact for fact in found if said.grounds(fact)]) < reading / 4
    told = [FactSaid(uuid4(), fact.statement, fact.first_message, fact.last_message) for fact in found]
    assert processor_seconds(lambda: find_links(told, segment.messages)) < reading / 4


@pytest.mark.parametrize("part", [" ", "\t", " \ue200", "【"])
@pytest.mark.parametrize("pattern", [chatgpt._MARK, chatgpt._CITED, deepseek._CITED], ids=lambda one: one.pattern[:9])
def test_marks_of_citations(pattern: re.Pattern[str], part: str) -> None:
    assert is_linear(lambda size: pattern.sub("", part * size), 100_000)


@pytest.mark.parametrize("part", ["eyJ", "eyJ9", "eyJa.", "ng_"])
def test_keys_in_addresses(part: str) -> None:
    assert is_linear(lambda size: has_key((f"q={part * size}").encode()), 100_000)
