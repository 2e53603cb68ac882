"""Follow-up questions of a chat: what they leave unsaid is carried over, and questions that stand alone stay."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.retrieval.chat.follow_ups import MOST_CARRIED, standing_alone
from neurigraph_pipelines.text.lexemes import lexer_of

ENGLISH = lexer_of("english")


def asked(*said: str) -> str:
    """The last of some turns, as it is searched for; user and assistant take turns, the user first and last."""
    roles = ("user", "assistant")
    return standing_alone([Turn(roles[place % 2], one) for place, one in enumerate(said)], ENGLISH)


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        (("Where did Rosa buy the boat?", "In Hamburg.", "And when was that?"), "And when was that, Rosa buy boat?"),
        (("Where did Rosa buy the boat?", "In Hamburg.", "How much did she pay?"), "How much did Rosa pay, buy boat?"),
        (("Which boat did Rosa Lang buy?", "A sloop.", "Who is her brother?"), "Who is Rosa Lang's brother, boat buy?"),
        (("Where does Dave work?", "At the mill.", "And Rosa?"), "And Rosa, work?"),
        (("Where does Dave work?", "At the mill.", "Since when?"), "Since when, Dave work?"),
        (("Where does Dave work?", "At the mill.", "Why?"), "Why, Dave work?"),
        (
            ("Who repairs the roof?", "You told Rosa to repair it.", "Where does she live?"),
            "Where does Rosa live, repairs roof?",
        ),
        (("What did we pay for the roof?", "900 euros.", "What about the gutter?"), "What about the gutter, pay roof?"),
    ],
)
def test_follow_up_takes_what_it_leaves_unsaid(said: tuple[str, ...], whole: str) -> None:
    assert asked(*said) == whole


def test_follow_up_of_a_follow_up() -> None:
    first = ("Where did Rosa buy the boat?", "In Hamburg.", "How much did she pay?", "900 euros.")
    assert asked(*first, "And when was that?") == "And when was that, Rosa buy boat pay?"


def test_follow_up_in_german() -> None:
    turns = [
        Turn("user", "Wo hat Rosa das Boot gekauft?"),
        Turn("assistant", "In Kiel."),
        Turn("user", "Wie viel hat sie bezahlt?"),
    ]
    assert standing_alone(turns, lexer_of("german")) == "Wie viel hat Rosa Boot bezahlt, gekauft?"


@pytest.mark.parametrize(
    "question",
    [
        "When did Rosa sell her boat?",
        "What did my sister say about her results?",
        "How long did it take Dave to paint the fence?",
        "Is there a key for the shed?",
        "Which boat that Rosa sold was red?",
        "What did Dave say that I should buy?",
        "What is my name?",
        "What time is it?",
        "And how much did the roof of the shed cost?",
        "When is the next meeting?",
        "Did the doctor change their mind about Dave?",
    ],
)
def test_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    assert asked("Where did Ann plant the roses?", "Behind Karl's garage.", question) == question


def test_new_subject_ends_the_one_before() -> None:
    """A follow-up belongs to the question before it, and not to one before that."""
    said = ("Where did Ann plant the roses?", "At home.", "Where does Dave work?", "At the mill.", "Since when?")
    assert asked(*said) == "Since when, Dave work?"


def test_only_some_words_are_carried() -> None:
    long = " ".join(f"thing{number}" for number in range(500))
    assert len(asked(f"Where is {long}?", "Here.", "And when was that?").split()) <= MOST_CARRIED + 4
    assert asked("And when was that?") == "And when was that?", "nothing is before it"
    assert asked("", "", "Why?") == "Why?"
