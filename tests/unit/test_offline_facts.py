"""Facts that the offline model reads from a conversation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.model import Role, Segment, SourceKind
from neurigraph_pipelines.model.facts import MAX_SHARE, ReadFact, Slot
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs
from resources.offline import facts
from resources.offline.fact_forms import clauses_of, read_fact
from resources.offline.language_model import OfflineLanguageModel
from resources.offline.telling import paired
from tests.support.model_clients import make_segment

TALK = [
    "Ana: Hi Bob! How are you?",
    "Bob: I moved to Porto on 3 March because the rent in Lisbon was 1,450 euros a month.",
    "Ana: Wow!",
    "Bob: My sister Clara works at Northwind and she will visit me on 12 April 2025.",
    "Ana: I decided to sell the red kayak to Dave for 300 euros.",
    "Bob: Okay, good luck.",
]


def spoken(*lines: str) -> Segment:
    """Return lines such as ``Ana: Hi!`` as a segment."""
    segment = make_segment(*(line.partition(": ")[2] or line for line in lines))
    authors = [line.partition(": ")[0] if ": " in line else "Ana" for line in lines]
    messages = (replace(message, author=author) for message, author in zip(segment.messages, authors, strict=True))
    return replace(segment, messages=tuple(messages))


def read(*lines: str) -> list[ReadFact]:
    return OfflineLanguageModel(None).extract_facts(spoken(*lines))


def test_facts_can_be_understood_alone() -> None:
    found = read(*TALK)
    assert [one.first_message for one in found] == sorted(one.first_message for one in found)
    assert {one.first_message for one in found} <= {2, 4, 5}
    assert any("Porto" in one.statement for one in found)
    messages = spoken(*TALK).messages
    for one in found:
        assert one.statement.split()[0].lower() not in {"i", "he", "she", "it", "my"}
        assert Said(messages).grounds(one)
        assert one.confidence in (facts.CONFIDENCE, facts.SLOT_CONFIDENCE)


def test_facts_are_few() -> None:
    many = [
        f"Bob: On {day} {month} 2025 I paid {day * 7} euros to Dave for the boat in Porto."
        for month in ("May", "June", "July")
        for day in range(1, 29)
    ]
    found = read(*many)
    words = sum(len(text.split()) for text in many)
    assert 0 < sum(len(one.statement.split()) for one in found) <= MAX_SHARE * words


def test_what_was_never_done_is_kept_before_other_statements() -> None:
    things = "fence gutter shed boat kettle lamp clock violin ladder basket mirror stove kayak tent".split()
    told = [f"I repaired a {thing} with my sister." for thing in things]
    found = [one.statement for one in read(*told, "I've never placed an online order for skis.")]
    assert 1 < len(found) < len(told)
    assert any("never" in one for one in found)


@pytest.mark.parametrize("texts", [["Hi!", "Hello.", "How are you?"], ["```\nx = 1\n```"], ["🦊" * 50], ["a" * 5_000]])
def test_nothing_is_stated(texts: list[str]) -> None:
    assert read(*texts) == []


@pytest.mark.parametrize(
    ("statement", "kind", "slot"),
    [
        ("Bob made Dave production lead on 3 March.", FactKind.STATE, Slot("Dave", "works as", "production lead")),
        ("Ana was promoted to head of sales.", FactKind.STATE, Slot("Ana", "works as", "head of sales")),
        ("Bob made Dave a sandwich.", FactKind.EVENT, None),
        ("Ana works at Lumen Press.", FactKind.STATE, Slot("Ana", "works at", "Lumen Press")),
        ("Ana's sister lives in Porto.", FactKind.STATE, Slot("Ana's sister", "lives in", "Porto")),
        ("Bob is allergic to walnuts.", FactKind.PREFERENCE, Slot("Bob", "allergic to", "walnuts")),
        ("Bob moved to Porto on 3 March 2025.", FactKind.EVENT, Slot("Bob", "moved to", "Porto")),
        ("Bob decided to sell the boat.", FactKind.DECISION, None),
        ("Bob will sell the boat.", FactKind.PLAN, None),
        ("The flat costs 800 euros a month.", FactKind.QUANTITY, Slot("The flat", "costs", "800 euros a month")),
        ("Bob loves the sea.", FactKind.PREFERENCE, Slot("Bob", "likes", "the sea")),
    ],
)
def test_kinds_and_slots(statement: str, kind: FactKind, slot: Slot | None) -> None:
    found = read_fact(statement, statement, "en", is_dated="2025" in statement)
    assert (found.kind, found.slot) == (kind, slot)


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("Clara is our neighbour and a doctor.", ["Clara is our neighbour.", "Clara is a doctor."]),
        ("Tom is my son, he is a cook and lives in Ulm.", ["Tom is my son.", "Tom is a cook.", "Tom lives in Ulm."]),
        ("Priya is my manager and she loves climbing.", ["Priya is my manager.", "Priya loves climbing."]),
        ("Marta is my aunt and has a cat and a dog.", []),
        ("Bob is a friend and he said a lot.", []),
        ("The plan is a mess and has no owner.", []),
    ],
)  # fmt: skip
def test_each_description_of_a_person_is_a_clause(sentence: str, parts: list[str]) -> None:
    assert clauses_of(sentence) == (parts or [sentence])


@pytest.mark.parametrize(
    ("lines", "manager"),
    [
        (["Ana: Maria Delgado is the new head of operations. She is my manager."], "Maria Delgado"),
        (
            ["Ana: Maria Delgado is the new head of operations.", "Assistant: Noted.", "Ana: She is my manager."],
            "Maria",
        ),
        (["Ana: I had lunch with Maria Delgado.", "Assistant: Nice. Who is she?", "Ana: She is my manager."], "Maria"),
        (["Ana: I had lunch with Maria Delgado and Priya Nair.", "Assistant: Nice.", "Ana: She is my manager."], ""),
        (["Ana: I met Maria Delgado's sister.", "Assistant: Nice.", "Ana: She is my manager."], ""),
        (["Ana: I had lunch with Maria Delgado.", "Assistant: With Priya Nair?", "Ana: She is my manager."], ""),
        (["Ana: I had lunch with Maria Delgado.", "Bob: Nice.", "Ana: She is my manager."], ""),
    ],
)
def test_she_is_the_only_person_whom_the_speaker_named_before(lines: list[str], manager: str) -> None:
    segment = spoken(*lines)
    roles = {"Assistant": Role.ASSISTANT}
    messages = (replace(one, role=roles.get(one.author or "", Role.USER)) for one in segment.messages)
    found = OfflineLanguageModel(None).extract_facts(replace(segment, messages=tuple(messages)))
    managers = [one.slot.subject for one in found if one.slot and one.slot.object.endswith("manager")]
    assert [one[: len(manager)] for one in managers] == ([manager] if manager else [])


def test_who_and_when_are_said() -> None:
    (lives, bought) = read("Bella lives in Porto since 2021.", "Ana: I bought a red bicycle for 340 euros yesterday.")
    assert lives.who == ("Bella",)
    assert bought.statement == "Ana bought a red bicycle for 340 euros on 7 May 2023."
    assert Said(spoken("Bella lives in Porto since 2021.").messages).grounds(lives)


def test_plain_sentences_of_notes_are_facts() -> None:
    key = "The router's password is in the green book."
    for kind, expected in ((SourceKind.NOTE, [key]), (SourceKind.CONVERSATION, [key])):
        for text, found in ((key, expected), ("Buy milk.", []), ("It is nice.", [])):
            segment = spoken(text)
            segment = replace(segment, ref=replace(segment.ref, source_kind=kind))
            assert [one.statement for one in OfflineLanguageModel(None).extract_facts(segment)] == found


def test_reasons_and_doubt() -> None:
    found = read_fact(
        "Bob left Porto because of the rain.", "Maybe I left Porto because of the rain.", "en", is_dated=False
    )
    assert (found.why, found.stated_as) == ("the rain", StatedAs.INFERENCE)
    assert (
        read_fact("Bob painted it by mixing oil.", "I painted it by mixing oil.", "en", is_dated=False).how
        == "mixing oil"
    )
    assert read_fact("Bob lo vio.", "Lo vi.", "es", is_dated=False).slot is None


def test_plans_expire() -> None:
    (plan,) = [one for one in read(*TALK) if one.kind is FactKind.PLAN]
    assert plan.occurred is not None
    assert plan.occurred.starts_at == datetime(2025, 4, 12, tzinfo=UTC)
    assert plan.occurred.ends_at is not None
    assert plan.expires_at == plan.occurred.ends_at + timedelta(days=1)
    assert all(one.impact is Impact.HIGH for one in read(*TALK) if one.slot and one.slot.predicate == "moved to")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('"I moved to Porto.', "I moved to Porto."),
        ("It costs 300 euros.”", "It costs 300 euros."),
        ("„Das ist gut.", "Das ist gut."),
        ("'I moved to Porto.", "I moved to Porto."),
        ('He said "yes" and "no', 'He said "yes" and no'),
        ('"Dune" is a book.', '"Dune" is a book.'),
        ("»Dune« ist ein Buch.", "»Dune« ist ein Buch."),
        ("« Dune » est un livre.", "« Dune » est un livre."),
        ('Ana bought a 27" screen.', 'Ana bought a 27" screen.'),
        ("'Dune' is Ana's book.", "'Dune' is Ana's book."),
        ("'90s music is fine.", "'90s music is fine."),
    ],
)
def test_marks_without_a_partner_go(text: str, left: str) -> None:
    assert paired(text) == left
    assert paired(left) == left


@pytest.mark.parametrize(("first", "last"), [('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'")])
def test_no_statement_begins_with_an_unclosed_quotation(first: str, last: str) -> None:
    quoted = (
        f"{first}The house in Porto costs 300,000 euros. Dave sold it to Clara on 3 May 2025. It has 4 rooms.{last}"
    )
    segment = spoken(f"Ana: My agent wrote: {quoted} I moved to Lisbon on 4 June 2025.", f"Bob: {quoted}")
    model = OfflineLanguageModel(None)
    told = [one.statement for one in model.extract_facts(segment)]
    assert any("300,000" in one for one in told)
    for one in [*told, model.summarize(segment, 150).text]:
        assert paired(one) == one
