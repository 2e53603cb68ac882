"""Causes that messages state in closed forms."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.knowledge.cues import StatedFact, find_causes
from neurigraph_pipelines.model import Message, Role


def message(text: str) -> Message:
    when = datetime(2026, 5, 1, tzinfo=UTC)
    return Message(seq=1, role=Role.USER, author="Bob", content=text, token_count=9, occurred_at=when)


def causes(text: str, *statements: str) -> list[tuple[str, str]]:
    facts = {uuid4(): statement for statement in statements}
    told = [StatedFact(fact_id, statement, 1, 1) for fact_id, statement in facts.items()]
    found = find_causes(told, [message(text)])

    def said(end: UUID) -> str:
        return facts[end]

    return [(said(link.start.id), said(link.end.id)) for link in found if link.relation == "caused_by"]


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
