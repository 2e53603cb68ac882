"""Causes, examples and parts that messages state in closed forms."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.knowledge.cues import FactSaid, find_links
from neurigraph_pipelines.model import Message, Role


def message(text: str) -> Message:
    when = datetime(2026, 5, 1, tzinfo=UTC)
    return Message(seq=1, role=Role.USER, author="Bob", content=text, token_count=9, occurred_at=when)


def causes(text: str, *statements: str, relation: str = "caused_by") -> list[tuple[str, str]]:
    facts = {uuid4(): statement for statement in statements}
    told = [FactSaid(fact_id, statement, 1, 1) for fact_id, statement in facts.items()]
    found = find_links(told, [message(text)])

    def said(end: UUID) -> str:
        return facts[end]

    return [(said(link.start.id), said(link.end.id)) for link in found if link.relation == relation]


MOVED, SMALL = "Bob moved to Porto.", "The office was small."


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Porto because the office was small.",
        "The office was small. That's why I moved to Porto.",
        "Our office was small, which is why I moved to Porto.",
    ],
)
def test_effect_names_its_cause(text: str) -> None:
    assert causes(text, MOVED, SMALL) == [(MOVED, SMALL)]


def test_other_languages() -> None:
    assert causes("Ich zog nach Porto, weil das Büro klein war.", "Bob zog nach Porto.", "Das Büro war klein.")
    assert causes("Me mudé porque la oficina era pequeña.", "Bob se mudé.", "La oficina era pequeña.") == [
        ("Bob se mudé.", "La oficina era pequeña.")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The workshop repairs old chairs. For example, Ana mended a rocking chair.",
        "Die Werkstatt repairs old chairs. Zum Beispiel mended Ana a rocking chair.",
    ],
)
def test_an_example_names_what_it_is_of(text: str) -> None:
    general, example = "The workshop repairs old chairs.", "Ana mended a rocking chair."
    assert causes(text, general, example, relation="instance_of") == [(example, general)]
    assert causes("For example, Ana mended a rocking chair.", general, example, relation="instance_of") == []


def test_a_part_names_the_whole() -> None:
    part, whole = "The catalogue has pictures.", "The launch of Willow is in May."
    text = "The catalogue with pictures is part of the launch of Willow in May."
    assert causes(text, part, whole, relation="part_of") == [(part, whole)]
    assert causes(text, part, whole) == []


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Porto. The office was small.",
        "I moved to Porto because of the sea.",
        "Because.",
        "",
    ],
)
def test_without_a_cue_or_two_facts_there_is_no_cause(text: str) -> None:
    assert causes(text, MOVED, SMALL) == []


def test_cues_are_linear() -> None:
    def seconds(times: int) -> float:
        started = time.process_time()
        causes("that is why because led to weil " * times, MOVED, SMALL)
        return time.process_time() - started

    seconds(2_000)
    assert seconds(80_000) < 30 * max(seconds(8_000), 0.002)
