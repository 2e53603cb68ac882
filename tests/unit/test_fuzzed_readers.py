"""Readers of text raise for no text: made of their own words, of signs of all scripts, and written by people.

CI tries the same examples each time, half a minute. ``NEURIGRAPH_FUZZ_SECONDS=3600`` tries others for an hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as datetime_time
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.knowledge.cues import FactSaid, find_links
from neurigraph_pipelines.model import Outline, Quotable
from neurigraph_pipelines.retrieval.query.framing import unframed
from neurigraph_pipelines.text.languages import language_of, language_of_parts
from neurigraph_pipelines.text.lexemes import lexer_of, name_words
from neurigraph_pipelines.text.time_phrases import asks_when, event_phrases, period_around, time_phrases
from resources.offline.date_words import LANGUAGES
from resources.offline.dated_quotes import dated, with_dates
from resources.offline.dates import find_dates, resolve_dates
from resources.offline.endings import stated_endings
from resources.offline.names import find_names
from resources.offline.prose import Prose
from resources.offline.units import units_of
from tests.support.chats import MODEL, chat
from tests.support.made_text import texts

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("NEURIGRAPH_FUZZ_SECONDS", "0"))
"""How long other texts than the usual ones are tried, all readers together."""

AT_ONCE = 300
CODES = (*LANGUAGES, "it", "nl", "pt", "zh", "ja", "ko")
CLOCKS = st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))])
TIMES = st.builds(
    lambda day, minute, clock: datetime.combine(day, datetime_time(minute // 60, minute % 60), clock),
    st.dates(date(1970, 1, 3), date(2199, 12, 30)),
    st.integers(0, 1439),
    CLOCKS,
)
AUTHORS = ("Ann Lee", "user", "assistant", "Ben")

Reader = Callable[[list[str], str, datetime], object]
"""Takes what people say in turn, a language, and when they do."""


def prose_of(said: list[str], at: datetime) -> Prose:
    return Prose(chat(*((AUTHORS[number % 4], text) for number, text in enumerate(said)), at=at))


def read_dates(said: list[str], language: str, at: datetime) -> None:
    for text in said:
        for day in resolve_dates(text, at, language):
            date.fromisoformat(f"{day}-01-01"[:10])
    find_dates(prose_of(said, at))


def read_quotes(said: list[str], language: str, at: datetime) -> None:
    for before, text in zip(["", *said], said, strict=False):
        line = " ".join(text.split())
        shown = dated(line, at, language, before)
        assert len(shown) >= len(line)
        with_dates(line, at, at.year, before)


def read_question(said: list[str], _language: str, at: datetime) -> None:
    for text in said:
        time_phrases(unframed(text), at)
        asks_when(text)
        for phrase in event_phrases(text):
            period_around(phrase, at)


def read_words(said: list[str], _language: str, _at: datetime) -> None:
    language_of_parts(said)
    for text in said:
        language_of(text)
        name_words(text)
        for stemmer in ("english", "german", "simple"):
            lexer_of(stemmer).lexemes(text)


def read_people(said: list[str], _language: str, at: datetime) -> None:
    prose = prose_of(said, at)
    names = find_names(prose)
    units_of(prose, names)
    stated_endings(prose, names.speakers, names.owner)


def read_facts(said: list[str], _language: str, at: datetime) -> None:
    segment = prose_of(said, at).segment
    found = MODEL.extract_facts(segment)
    stated = [FactSaid(UUID(int=n), f.statement, f.first_message, f.last_message) for n, f in enumerate(found)]
    find_links(stated, segment.messages)


def read_memory(said: list[str], _language: str, at: datetime) -> None:
    segment = prose_of(said, at).segment
    MODEL.extract_keywords(segment)
    MODEL.place(segment, Outline())
    MODEL.merge([MODEL.summarize(segment, 60)] * 2, 40)


def read_evidence(said: list[str], _language: str, at: datetime) -> None:
    question, *rest = said
    MODEL.answer(question, at, [Quotable(text, AUTHORS[n % 4], at, before=question) for n, text in enumerate(rest)])


READERS: dict[Reader, int] = {
    read_dates: 150, read_quotes: 150, read_question: 200, read_words: 100, read_people: 60, read_facts: 60,
    read_memory: 40, read_evidence: 60,
}  # fmt: skip
"""What reads text, with the number of examples that take some seconds."""


def fuzz(reader: Reader, examples: int, *, same: bool) -> None:
    @settings(
        max_examples=examples,
        derandomize=same,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
    @given(st.lists(texts(), min_size=1, max_size=4), st.sampled_from(CODES), TIMES)
    def read(said: list[str], language: str, at: datetime) -> None:
        reader(said, language, at)

    read()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_reader_raises_for_no_text(reader: Reader) -> None:
    if not SECONDS:
        fuzz(reader, READERS[reader], same=True)
    until = time.monotonic() + SECONDS / len(READERS)
    while time.monotonic() < until:
        fuzz(reader, AT_ONCE, same=False)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("text", ["", " ", "\n", "May 3-4, " * 800, "1" * 50_000, "Am 3./4. " * 800])
def test_reader_takes_empty_and_long_text_in_seconds(reader: Reader, text: str) -> None:
    started = time.thread_time()
    reader([text, "Why?", text], "en", datetime(2025, 3, 1, tzinfo=UTC))
    assert time.thread_time() - started < 30
