"""Questions about a node as a whole: what it is, and everything about it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from neurigraph_pipelines.graph.navigation import find_node, shell
from neurigraph_pipelines.knowledge.stating import retract
from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.retrieval.ask import NOTHING_FOUND, ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, stored
from tests.support.saying_model import SayingModel
from tests.support.told_people import People

WHO = "Dave: husband, Ana's uncle, production lead since March 2024"


@pytest.fixture
def people(shared_installation: Installation) -> People:
    """Dave is known from three places; the last to speak of him is an anecdote."""
    here = People(shared_installation)
    texts = (
        ("#Family/Dave Dave fell into the lake.",),
        ("#Family Today we ate. @Dave:husband",),
        ("#Family Today we ate again. @Dave:husband",),
        ("#Family/Ana Ana was late. @Dave:uncle",),
        ("#Work Dave leads the workshop now.", "#Work Dave fried a zander with butter."),
    )
    for contents in texts:
        converse(here.here, here.claims, *contents)
        records = stored(ingest(here.context, here.user))
    here.tell(records[0].record_id, "Bob made Dave production lead on 3 March.", 62)
    here.tell(records[0].record_id, "Dave fried a zander with butter.", 63, message=2)
    return here


def answer(people: People, query: str, *statements: Statement, **more: object) -> list[str]:
    context = people.context.using(language_model=SayingModel(*statements)).acting_for(people.claims)
    reply = ask(context, Question(query, **more), asked_at=datetime(2025, 4, 1, tzinfo=UTC))  # type: ignore[arg-type]
    assert reply.found == (reply.answer != NOTHING_FOUND)
    for line in reply.answer.splitlines() if reply.found else ():
        assert line.endswith("]"), "each statement has a citation"
    return [line.split(" [")[0].removesuffix(".") for line in reply.answer.splitlines()]


@pytest.mark.parametrize("query", ["Who is Dave?", "who's dave", "Wer ist Dave?", "¿Quién es Dave?", "Qui est Dave ?"])
def test_who_begins_with_what_somebody_is(people: People, query: str) -> None:
    anecdote = Statement("Dave fell into the lake", (2,))
    assert answer(people, query, anecdote)[0] == WHO


def test_what_relation_and_fact_say_is_said_once(people: People) -> None:
    _, record_id = people.record()
    people.tell(record_id, "Dave is the husband.", 91)
    people.reconcile()
    assert answer(people, "Who is Dave?")[0].count("husband") == 1


def test_node_shows_the_same_summary(people: People) -> None:
    with people.here.database.agent(people.claims) as tx:
        found = shell(tx, find_node(tx, people.user.user_id, "Family/Dave"))
    assert found.summary is not None
    assert found.summary.startswith(f"{WHO}. 1 memory from March 2025")


def test_summary_follows_its_facts(people: People) -> None:
    _, record_id = people.record()
    manager = people.tell(record_id, "Dave was promoted to workshop manager.", 90)
    people.reconcile()
    assert answer(people, "Who is Dave?")[0].endswith("workshop manager since March 2024"), "the last one counts"
    retract(people.here.acting_for(people.claims), manager)
    assert "workshop manager" not in answer(people, "Who is Dave?")[0]


def test_everything_is_summary_facts_and_memories(people: People) -> None:
    told = answer(people, "Tell me everything about Dave")
    assert told[0] == WHO
    assert sorted(told[1:3]) == [
        "Work, 1 March 2025: Bob made Dave production lead on 3 March",
        "Work, 1 March 2025: Dave fried a zander with butter",
    ]
    assert all(line.startswith("Memory of 1 March 2025: ") for line in told[3:])
    assert len(told) > 3


def test_everything_about_a_subject(people: People) -> None:
    told = answer(people, "What do you know about Work?")
    assert told[0].startswith("Work: About Work. 1 memory from March 2025")
    assert "Work, 1 March 2025: Dave fried a zander with butter" in told


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("Who is Dave married to?", {}),
        ("Who is Nobody?", {}),
        ("Tell me everything", {}),
        ("Who is Dave?", {"speaker": "Ana"}),
        ("Who is Dave?", {"occurred_before": datetime(2025, 1, 1, tzinfo=UTC)}),
    ],
)
def test_other_questions_are_searches(people: People, query: str, more: dict[str, object]) -> None:
    assert all("uncle," not in line for line in answer(people, query, **more))
