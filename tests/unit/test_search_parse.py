"""Step 1 of a search: checked and cleaned questions, and the times that they name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.retrieval.query.parse import MAX_QUERY_LEXEMES, in_languages, moment_asked, named_times, parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.several import SPREAD, spread
from neurigraph_pipelines.text.lexemes import Lexer

NOON = datetime(2023, 5, 9, 12, tzinfo=UTC)


def test_text_is_cleaned_and_filters_are_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    asked = Question(" The boat\x00 ", speaker=" Ana\ud800 ", occurred_after=NOON.replace(tzinfo=east), at=NOON)
    checked = parse(asked, "english").question
    assert (checked.query, checked.speaker) == ("The boat\ufffd", "Ana\ufffd")
    assert checked.occurred_after == NOON - timedelta(hours=2)
    assert (checked.occurred_after.utcoffset(), checked.at) == (timedelta(0), NOON)
    assert parse(checked, "english").question == checked, "cleaning twice changes nothing"


def test_question_in_the_languages_of_memories() -> None:
    """Each word counts in each language, except the stop words of the question's own."""
    german = parse(Question("Wann sind die Häuser in Kitzbühel fertig?"), "english")
    assert {"wann", "sind", "die", "hauser"} <= set(german.lexemes)
    assert in_languages(german, ["german"]).lexemes == ("hauser", "kitzbuhel", "fertig", "haus")
    english = parse(Question("When did the plants in the houses of Andreas die?"), "english")
    assert in_languages(english, []) is english
    assert in_languages(english, ["english"]) is english
    assert set(in_languages(english, ["german"]).lexemes) == {*english.lexemes, "andreas"}


def test_words_become_distinct_lexemes() -> None:
    parsed = parse(Question("Boats, a boat and Fátima's boats"), "english")
    assert parsed.stems == ("boat", "fátima")
    assert parsed.lexemes == ("boat", "fatima")
    many = parse(Question(" ".join(f"word{number}" for number in range(400))), "english")
    assert len(many.stems) == len(many.lexemes) == MAX_QUERY_LEXEMES


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("my boat", Role.USER),
        ("your advice", Role.ASSISTANT),
        ("the boat", None),
        ("Can you list what I bought?", Role.USER),
        ("Could you please walk me through the cake?", None),
        ("Can you remind me what you recommended?", Role.ASSISTANT),
        ("Can you list the order in which I brought up boats?", Role.USER),
    ],
)
def test_role_asked(query: str, role: Role | None) -> None:
    assert parse(Question(query), "english").role == role


@pytest.mark.parametrize(
    ("query", "asks"),
    [("When did she sail?", True), ("Can you tell me in which year I moved?", True), ("What did she say then?", False)],
)
def test_questions_for_a_time(query: str, *, asks: bool) -> None:
    assert parse(Question(query), "english").asks_when is asks


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Can you give me a short summary of how my garden has changed so far?", "my garden has changed ?"),
        (
            "Can you list the order in which I brought up different aspects of sailing across our conversations, in "
            "order? Mention ONLY and ONLY five items.",
            "sailing , ? .",
        ),
        ("Which boat did I say I bought?", "Which boat I bought?"),
        ("Summarize the discussion of the budget", "the discussion of the budget"),
        ("How did the list of names begin?", "How did the list of names begin?"),
        ("Was the file in order to print?", "Was the file in order to print?"),
        ("Can you help me?", "Can you help me?"),
    ],
)
def test_framing_is_not_looked_for(query: str, asked: str) -> None:
    parsed = parse(Question(query), "english")
    assert (parsed.asked, parsed.question.query) == (asked, query)
    assert parsed.lexemes == tuple(dict.fromkeys(Lexer().lexemes(asked)))


@pytest.mark.parametrize(
    ("query", "several"),
    [
        ("How many cats do I have?", True),
        ("What do Ana and Ben have in common?", True),
        ("Can you list my plants in order?", True),
        ("Where is my bookcase?", False),
        ("Wie viele Katzen habe ich?", False),
    ],
)
def test_questions_for_several_things(query: str, *, several: bool) -> None:
    assert parse(Question(query), "english").asks_for_several is several


def test_messages_pay_for_better_ones_of_their_record() -> None:
    score, record = np.array([1.0, 0.9, 0.8, 0.7]), np.array([5, 5, 2, 5])
    assert spread(score, record).tolist() == pytest.approx([1.0, 0.9 - SPREAD, 0.8, 0.7 - 2 * SPREAD])
    assert spread(score[:0], record[:0]).tolist() == []


def test_moment_asked_is_given_or_that_of_the_past_or_now() -> None:
    east = timezone(timedelta(hours=2))
    parsed = parse(Question("boat", at=NOON), "english")
    assert moment_asked(parsed, NOON.astimezone(east)).utcoffset() == timedelta(hours=2)
    assert moment_asked(parsed, NOON.replace(tzinfo=None)) == NOON
    assert moment_asked(parsed, None) == NOON
    assert abs(moment_asked(parse(Question("boat"), "english"), None) - datetime.now(UTC)) < timedelta(minutes=1)


def test_named_times() -> None:
    times = named_times(parse(Question("the boat in May 2022, before the move"), "english"), NOON)
    assert [period.starts_at for period in times.periods] == [datetime(2022, 5, 1, tzinfo=UTC)]
    assert times.event is not None
    assert (times.event.relation, times.event.event) == ("before", "the move")
    given = Question("the boat in May 2022, before the move", periods=((NOON, NOON + timedelta(days=1)),))
    assert named_times(parse(given, "english"), NOON).periods == ()
    assert named_times(parse(given, "english"), NOON).event is None
