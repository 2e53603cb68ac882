"""Questions of people about themselves, in a language other than that of what was said. With the offline models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neurigraph_pipelines.access.accounts import change_account
from neurigraph_pipelines.retrieval.ask import NOTHING_FOUND, ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_contradictions import remember
from tests.support.memories import converse, ingest, new_user, rows, stored

NOTES = [
    "I work as a nurse at the Charité.",
    "I live in Leipzig.",
    "I am allergic to penicillin.",
    "My sister Ana lives in Porto.",
    "I like dark chocolate.",
    "The car needs a new clutch.",
]


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        (("What is my job?", "Was ist mein Beruf?", "What do I do for a living?"), "nurse at the Charité"),
        (("Where do I live?", "Wo wohne ich?", "Which city do I live in?"), "Leipzig"),
        (("What am I allergic to?", "Wogegen bin ich allergisch?", "Do I have any allergies?"), "penicillin"),
        (("What do I like?", "Was mag ich?"), "dark chocolate"),
    ],
)
def test_questions_about_oneself_are_answered(
    shared_installation: Installation, questions: tuple[str, ...], said: str
) -> None:
    _, claims = new_user(shared_installation)
    remember(shared_installation, claims, NOTES)
    context = shared_installation.context.acting_for(claims)
    for question in questions:
        first = ask(context, Question(question)).answer.split("\n")[0]
        assert said in first, (question, first)


@pytest.mark.parametrize("question", ["Who am I?", "What do you know about me?", "Was weißt du über mich?"])
def test_all_that_holds_about_oneself_is_told(shared_installation: Installation, question: str) -> None:
    _, claims = new_user(shared_installation)
    remember(shared_installation, claims, NOTES)
    context = shared_installation.context.acting_for(claims)
    reply = ask(context, Question(question))
    assert [part for part in ("nurse", "Leipzig", "penicillin", "Porto", "chocolate") if part not in reply.answer] == []
    assert "clutch" not in reply.answer
    assert len(reply.citations) == 5
    guest = replace(claims, sub="guest", role="third_party")
    assert ask(context.acting_for(guest), Question(question)).answer == NOTHING_FOUND


def test_who_one_is_begins_with_name_people_home_and_work(shared_installation: Installation) -> None:
    _, claims = new_user(shared_installation)
    essential = [
        "My name is Ines Mora.",
        "My husband is called Theo.",
        "I live in Vigo.",
        "I work as a boat builder.",
        "I am allergic to shellfish.",
        "I prefer short answers.",
        "I have asthma.",
    ]
    trivia = ["The lid of my kettle is loose.", "I bought a grey bucket.", "My left boot leaks.", "I found an old oar."]
    remember(shared_installation, claims, [*essential, *trivia])
    context = shared_installation.context.acting_for(claims)
    lines = ask(context, Question("Who am I?")).answer.splitlines()
    told = ["Ines Mora", "Theo", "Vigo", "boat builder", "shellfish"]
    assert [part for part, line in zip(told, lines, strict=False) if part not in line] == []
    assert {"short answers" in line or "asthma" in line for line in lines[5:7]} == {True}


def test_who_speaks_has_the_name_of_the_account(shared_installation: Installation) -> None:
    user, claims = new_user(shared_installation)
    change_account(shared_installation.database, claims, {"display_name": "Kim Weber"})
    remember(shared_installation, claims, ["I live in Leipzig.", "My brother has a boat.", "I live in Hamburg now."])
    query = "SELECT f.statement, f.subject FROM neurigraph.facts AS f WHERE f.user_id = %s ORDER BY f.statement"
    assert [tuple(row.values()) for row in rows(shared_installation, query, user.user_id)] == [
        ("Kim Weber lives in Hamburg now.", "The user"),
        ("Kim Weber lives in Leipzig.", "The user"),
        ("Kim Weber's brother has a boat.", "The user's brother"),
    ]
    first, second = ask(shared_installation.context.acting_for(claims), Question("Where do I live?")).answer.split("\n")
    assert first == "Kim Weber, 7 March 2026: I live in Hamburg now. [1]"
    assert second == "Before that, Kim Weber, 1 March 2026: I live in Leipzig. [2]"


@pytest.mark.parametrize("name", [None, "Kim Berg"])
def test_an_account_may_change_its_name(shared_installation: Installation, name: str | None) -> None:
    _, claims = new_user(shared_installation)
    change_account(shared_installation.database, claims, {"display_name": "Kim Weber"})
    remember(shared_installation, claims, ["I live in Leipzig."])
    change_account(shared_installation.database, claims, {"display_name": name})
    context = shared_installation.context.acting_for(claims)
    assert ask(context, Question("Where do I live?")).answer.endswith(", 1 March 2026: I live in Leipzig. [1]")
    assert ask(context, Question("Who am I?")).answer == "1 March 2026: Kim Weber lives in Leipzig. [1]"


def test_two_people_of_one_first_name_stay_two(shared_installation: Installation) -> None:
    _, claims = new_user(shared_installation)
    said = "My brother Tomas lives in Leeds. My colleague Tomas Berg lives in Oslo."
    remember(shared_installation, claims, [said])
    context = shared_installation.context.acting_for(claims)
    assert ask(context, Question("Who is Tomas?")).answer == "Tomas: brother, lives in Leeds. [1]"
    assert ask(context, Question("Who is Tomas Berg?")).answer == "Tomas Berg: lives in Oslo. [1]"


def test_colleague_is_not_filed_at_a_brother_of_that_name(shared_installation: Installation) -> None:
    user, claims = new_user(shared_installation)
    told = (
        "My brother Jonas is coming for Easter. Jonas always has a toy for each child of the family.",
        "Jonas Feld, a colleague of mine, checked my contract. Jonas Feld runs the meeting with the client.",
    )
    paths = []
    for text in told:
        converse(shared_installation, claims, text)
        (one,) = stored(ingest(shared_installation.context, user))
        paths.append(one.node_path.partition("/")[2])
    assert paths == ["Family/Jonas", "Business/Jonas Feld"]
