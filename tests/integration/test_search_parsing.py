"""Search questions: invalid filters, times in the question, events dated by a memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import uuid4

import pytest
from pydantic import ValidationError

from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import EventKind, ImportedConversation, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Language, Settings
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, ingest, new_user, plain_context, rows

NOON = datetime(2023, 6, 14, 12, tzinfo=UTC)


class Memory:
    """One user's memory of things said at certain times, asked in short."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.user, self.claims = new_user(here)

    def remember(self, text: str, at: datetime, author: str | None = None, kind: EventKind | None = None) -> None:
        said = IncomingMessage(Role.USER, text, author, "m1", at)
        conversation = ImportedConversation(uuid4().hex, (said,), "a talk", ended_at=at, event_kind=kind)
        with self.here.database.agent(self.claims) as tx:
            Inbox(self.here.context).add_conversations(tx, self.claims.user_id, [conversation])

    def find(self, query: str, asked_at: datetime | None = NOON, **more: Any) -> Found:
        here = self.here
        return search(
            here.acting_for(self.claims).using(embedder=WordEmbedder()), Question(query, **more), asked_at=asked_at
        )

    def titles(self, query: str, **more: Any) -> list[str]:
        return [hit.title for hit in self.find(query, **more).hits]


@pytest.fixture(scope="module")
def memory(shared_installation: Installation) -> Memory:
    made = Memory(shared_installation)
    for text, at, author, kind in (
        ("#Boats We talked about the boat in winter.", datetime(2023, 1, 10, 9, tzinfo=UTC), "Ana", None),
        ("#Boats We talked about the boat in May.", datetime(2023, 5, 8, 9, tzinfo=UTC), "Dave", None),
        ("#Boats We talked about the boat in June.", datetime(2023, 6, 12, 9, tzinfo=UTC), "Ana", None),
        ("#Home The move to Lisbon is done.", datetime(2023, 3, 1, 9, tzinfo=UTC), None, None),
        ("#Work The boat is for sale.", datetime(2022, 5, 20, 9, tzinfo=UTC), "Ana", EventKind.MEETING),
    ):
        made.remember(text, at, author, kind)
    ingest(plain_context(shared_installation), made.user)
    return made


def test_time_in_question_boosts(memory: Memory) -> None:
    assert memory.titles("What about the boat in May 2023?")[0].endswith("in May.")
    assert memory.titles("What about the boat in January 2023?")[0].endswith("in winter.")
    assert memory.titles("What about the boat two days ago?")[0].endswith("in June.")
    assert len(memory.titles("What about the boat in May 2023?")) == 5, "nothing is left out for a guess"


def test_relative_times_count_from_asking_time(memory: Memory) -> None:
    last_week = "the boat last week"
    assert memory.find(last_week).periods[0].starts_at == datetime(2023, 6, 5, tzinfo=UTC)
    a_year_before = memory.find(last_week, asked_at=NOON - timedelta(days=365))
    assert a_year_before.periods[0].starts_at == datetime(2022, 6, 6, tzinfo=UTC)
    assert memory.find(last_week, asked_at=None, at=NOON).periods[0].starts_at == datetime(2023, 6, 5, tzinfo=UTC)


def score(answer: Found, ending: str) -> float:
    (hit,) = (hit for hit in answer.hits if hit.title.endswith(ending))
    return float(hit.score)


def test_event_is_dated_by_memory(memory: Memory) -> None:
    before, after = memory.find("the boat before the move"), memory.find("the boat after the move")
    assert (before.periods[0].starts_at, before.periods[0].ends_at) == (None, datetime(2023, 3, 2, tzinfo=UTC))
    assert (after.periods[0].starts_at, after.periods[0].ends_at) == (datetime(2023, 3, 1, tzinfo=UTC), None)
    assert score(before, "in winter.") / score(before, "in May.") > score(after, "in winter.") / score(after, "in May.")
    assert memory.find("the boat after the earthquake").periods == [], "nobody spoke of one"


def test_filters_exclude_and_guesses_rank(memory: Memory) -> None:
    may, june = datetime(2023, 5, 8, 9, tzinfo=UTC), datetime(2023, 6, 12, 9, tzinfo=UTC)
    assert len(memory.titles("boat", occurred_after=may)) == 2
    assert len(memory.titles("boat", occurred_after=may, occurred_before=june)) == 1
    assert len(memory.titles("boat", occurred_before=may)) == 3
    assert len(memory.titles("boat", source_kinds=(SourceKind.EVENT,))) == 1
    assert len(memory.titles("boat", source_kinds=(SourceKind.EVENT, SourceKind.CONVERSATION))) == 5
    assert memory.titles("boat", source_kinds=(SourceKind.UPLOAD,)) == []
    assert [title[-7:] for title in memory.titles("boat", speaker=" dave ")] == ["in May."]
    assert memory.titles("boat", speaker="Nobody'; DROP TABLE x") == []
    assert [len(memory.find("boat", speaker=name).messages) for name in ("ANA", "\x00", "🦊" * 300)] == [3, 0, 0]


def test_naive_time_is_utc(memory: Memory) -> None:
    naive = datetime(2023, 5, 8, 9, tzinfo=UTC).replace(tzinfo=None)
    assert len(memory.titles("boat", occurred_after=naive)) == 2
    assert memory.find("the boat yesterday", asked_at=naive).periods[0].starts_at == datetime(2023, 5, 7, tzinfo=UTC)


def test_question_before_the_calendar_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="outside the years"):
        memory.find("boat yesterday", asked_at=datetime(1, 1, 1, tzinfo=UTC))


def test_both_stemmers_know_every_language(shared_installation: Installation) -> None:
    languages = get_args(Language)
    known = {row["cfgname"] for row in rows(shared_installation, "SELECT cfgname::text FROM pg_ts_config")}
    assert known.issuperset(languages)
    for language in languages:
        assert Lexer(language).lexemes("Lisboa") != []
    for stranger in ("klingon", "polish", ""):
        with pytest.raises(ValidationError, match="'english'"):
            Settings.model_validate({"language": stranger})
