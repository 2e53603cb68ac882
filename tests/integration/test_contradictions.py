"""Contradictions of short notes: what waits for a decision, and what an answer says first. With the offline models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Claims, Statement
from neurigraph_pipelines.retrieval.ask import CHANGED, ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import new_user, rows
from tests.support.saying_model import SayingModel

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)

NOTES = [
    ("My passport expires on 9 March 2036.", "My passport expires on 9 March 2026.", "When does my passport expire?"),
    ("I have a rash on my left arm.", "I don't have a rash on my left arm.", "Do I have a rash?"),
    ("The gate code is 4711.", "The gate code is 9922.", "What is the gate code?"),
    ("Marta's birthday is on 8 June.", "Marta's birthday is on 3 May.", "When is Marta's birthday?"),
    ("We live in Leipzig.", "We live in Hamburg.", "Where do we live?"),
]
OTHERS = [
    ("The password of the wifi is bluebird.", "The wifi password is kingfisher.", "What is the wifi password?"),
    ("The car insurance renews on 1 July.", "The car insurance renews on 1 April.", "When does our insurance renew?"),
    ("Dave is allergic to nuts.", "Dave is not allergic to nuts.", "Is Dave allergic to nuts?"),
    ("Our anniversary is on 14 September.", "Our wedding anniversary is on 12 September.", "When is our anniversary?"),
    ("Clara works at Northwind.", "Clara started at Bosch last week.", "Where does Clara work?"),
]  # fmt: skip
WORDED = [
    ("The passport expires 9 March 2036", "Passport expires: 9 March 2026", "When does my passport expire?"),
    ("I get a rash from penicillin.", "Penicillin gives me no rash.", "Does penicillin give me a rash?"),
    ("Gate code 4711", "The gate code: 9922", "What is the gate code?"),
    ("The alarm code of the workshop is 1234.", "Alarm code of the workshop: 8765", "What is the alarm code?"),
    ("Marta's birthday: 8 June", "Marta's birthday is on 3 May.", "When is Marta's birthday?"),
    ("I live in Leipzig.", "My home is in Hamburg.", "Where do I live?"),
]
PLACED = [
    ("The gate code is 4711.", "The gate code of the workshop is 9922.", "What is the gate code?"),
    ("The PIN of the garage alarm is 1234.", "The alarm PIN is 8765.", "What is the PIN of the alarm?"),
]
OF_THE_HOUSE = [
    ("The wifi password at the shed is Poppy22.", "Wifi password at the shed: Tulip88", "What is the wifi password?"),
    ("Our landlord is Mr Olsen.", "Our landlord is Mrs Petrova.", "Who is our landlord?"),
    ("My blood type is A positive.", "My blood group is 0 negative.", "What is my blood type?"),
    ("The bin is collected on Tuesdays.", "The bin is collected on Fridays.", "When is the bin collected?"),
]  # fmt: skip
ENDED = [
    ("I have a rash on my arm.", "No rash any more.", "Do I have a rash?"),
    ("I have a cough.", "My cough has cleared up.", "Do I have a cough?"),
    (
        "The code of the garden gate is 5533.",
        "The garden gate code is now 6644.",
        "What is the code of the garden gate?",
    ),
    ("The code of the shed is 1122.", "The new code of the shed is 3344 now.", "What is the code of the shed?"),
    (
        "We decided to use Postgres for the billing service.",
        "Instead of Postgres we now use MySQL for the billing service.",
        "What do we use for the billing service?",
    ),
]
GERMAN = [
    ("Mein Reisepass läuft am 9. März 2036 ab.", "Mein Reisepass läuft am 9. März 2026 ab.", "Wann läuft der Pass ab?"),
    ("Ich habe einen Ausschlag am Arm.", "Ich habe keinen Ausschlag am Arm.", "Habe ich einen Ausschlag?"),
    ("Der Torcode ist 4711.", "Der Torcode lautet jetzt 9922.", "Wie lautet der Torcode?"),
    ("Marta hat am 8. Juni Geburtstag.", "Martas Geburtstag ist am 3. Mai.", "Wann hat Marta Geburtstag?"),
    ("Wir wohnen in Leipzig.", "Wir sind nach Hamburg gezogen.", "Wo wohnen wir?"),
]  # fmt: skip


def remember(here: Installation, claims: Claims, texts: Sequence[str]) -> None:
    """Write notes three days apart, and read and compare their facts."""
    context = here.context.acting_for(claims)
    for number, text in enumerate(texts):
        write_note(context, IncomingNote(text, occurred_at=BEGIN + timedelta(days=3 * number)))
    assert sum(len(one.stored) for one in run_due(here.context, "tests")) == len(texts)
    assert not read_waiting(here.context, user_id=claims.user_id).failed
    assert not reconcile_waiting(here.context, user_id=claims.user_id).failed


@pytest.mark.parametrize("told", [NOTES, OTHERS, WORDED, PLACED, OF_THE_HOUSE, ENDED, GERMAN])
def test_blatant_contradictions_wait_for_a_decision(
    shared_installation: Installation, told: list[tuple[str, str, str]]
) -> None:
    user, claims = new_user(shared_installation)
    remember(shared_installation, claims, [*(one[0] for one in told), *(one[1] for one in told)])
    query = """SELECT f.statement, o.statement AS other FROM neurigraph.actions AS a
        INNER JOIN neurigraph.facts AS f ON a.fact_id = f.fact_id
        INNER JOIN neurigraph.facts AS o ON a.other_fact_id = o.fact_id WHERE a.user_id = %s AND a.state = 'open'"""
    waiting = [" / ".join(one.values()) for one in rows(shared_installation, query, user.user_id)]
    assert len(waiting) == len(told), waiting
    context = shared_installation.context.acting_for(claims)
    for before, now, question in told:
        reply = ask(context, Question(question))
        first, second, *_ = reply.answer.split("\n")
        assert now in first, reply.answer
        assert second.startswith("Before that, "), reply.answer
        assert before in second, reply.answer
        assert CHANGED in reply.notes


def test_who_somebody_is_comes_from_one_sentence_or_several(shared_installation: Installation) -> None:
    """All roles are said, whatever was told last; "he" is the person told of before, and nobody else."""
    sister, anecdote = "Ana is my sister.", "Dave fell into the lake at the barbecue, and everybody laughed."
    whole = "Dave is my brother-in-law, he is Ana's husband and production lead since March 2025."
    parts = ["Dave is my brother-in-law.", "Dave is Ana's husband.", "Dave has been production lead since March 2025."]
    for told in ([whole, anecdote], [sister, *parts, anecdote]):
        _, claims = new_user(shared_installation)
        remember(shared_installation, claims, told)
        context = shared_installation.context.acting_for(claims)
        first = ask(context, Question("Who is Dave?")).answer.split("\n")[0]
        assert first.startswith("Dave: brother-in-law, Ana's husband, production lead since March 2025."), first
        everything = ask(context, Question("Tell me everything about Dave")).answer.split("\n")
        assert everything[0].rpartition(". [")[0] == first.rpartition(". [")[0]
        assert any("Dave is Ana's husband." in line for line in everything[1:])
    more = [
        *(whole, "Dave is a friend of the family. He is allergic to walnuts."),
        *("Ana is Bob's wife, he is foreman.", "Dave became plant manager in October 2025."),
    ]
    _, claims = new_user(shared_installation)
    remember(shared_installation, claims, more)
    context = shared_installation.context.acting_for(claims)
    first = ask(context, Question("Who is Dave?")).answer.split("\n")[0]
    assert "allergic to walnuts" in first
    assert "plant manager since October 2025" in first, "it follows the newest fact"
    assert "production lead" not in first
    assert "Ana is foreman" not in ask(context, Question("Tell me everything about Ana")).answer


def test_of_three_values_two_are_of_before(shared_installation: Installation) -> None:
    _, claims = new_user(shared_installation)
    days = ["Monday", "Tuesday", "Friday"]
    remember(shared_installation, claims, [f"The meeting with Omar is on {day} at 10." for day in days])
    reply = ask(shared_installation.context.acting_for(claims), Question("When is the meeting with Omar?"))
    begins = ["user, 7 March 2026: ", "Before that, user, 4 March 2026: ", "Before that, user, 1 March 2026: "]
    said = [f"{begin}The meeting with Omar is on {day} at 10." for begin, day in zip(begins, days[::-1], strict=True)]
    assert [one.rpartition(" [")[0] for one in reply.answer.split("\n")] == said


def test_another_gate_has_another_code(shared_installation: Installation) -> None:
    user, claims = new_user(shared_installation)
    remember(shared_installation, claims, ["The gate code is 4711.", "The gate code of the workshop is 9922."])
    query = "SELECT a.state FROM neurigraph.actions AS a WHERE a.user_id = %s AND a.kind = 'supersede'"
    assert rows(shared_installation, query, user.user_id) == [{"state": "open"}]
    remember(shared_installation, claims, ["The gate code of the garden is 5533."])
    assert rows(shared_installation, query, user.user_id) == [{"state": "rejected"}]
    context = shared_installation.context.acting_for(claims)
    for thing, code in (("workshop", "9922"), ("garden", "5533")):
        reply = ask(context, Question(f"What is the gate code of the {thing}?"))
        assert (code in reply.answer, "\n" in reply.answer, reply.notes) == (True, False, [])


def test_a_model_that_says_both_sides_is_left_alone(shared_installation: Installation) -> None:
    _, claims = new_user(shared_installation)
    remember(shared_installation, claims, NOTES[2][:2])
    model = SayingModel(Statement("The code is 9922; it was 4711.", (1, 2)))
    context = shared_installation.context.using(language_model=model).acting_for(claims)
    assert ask(context, Question(NOTES[2][2])).answer == "The code is 9922; it was 4711. [1][2]"
    model.statements = (Statement("The gate code is 4711.", (1 + ("4711" in model.given[1].text),)),)
    first, second = ask(context, Question(NOTES[2][2])).answer.split("\n")
    assert "9922" in first
    assert second.startswith("Before that, The gate code is 4711.")
