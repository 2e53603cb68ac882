"""Relations that a text says have ended or never were."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from neurigraph_pipelines.model import Ending, Segment
from resources.offline.endings import COUPLES, WORKPLACES
from resources.offline.names import find_names
from resources.offline.prose import Prose
from tests.support.model_clients import make_segment


def spoken(*lines: str) -> Segment:
    segment = make_segment(*(line.partition(": ")[2] for line in lines))
    authors = [line.partition(": ")[0] for line in lines]
    messages = (replace(message, author=author) for message, author in zip(segment.messages, authors, strict=True))
    return replace(segment, messages=tuple(messages))


def ended(*lines: str) -> list[tuple[str | None, str, tuple[str, ...], bool]]:
    found = find_names(Prose(spoken(*lines))).endings
    return [(one.whose, one.other, one.labels, one.denied) for one in found]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Dave is no longer my boss.", [("Ana", "Dave", ("boss",), False)]),
        ("Dave isn't my boss any more.", [("Ana", "Dave", ("boss",), False)]),
        ("Dave is not my brother.", [("Ana", "Dave", ("brother",), True)]),
        ("Dave was never Clara's brother.", [("Clara", "Dave", ("brother",), True)]),
        ("Dave no longer works at Northwind.", [("Dave", "Northwind", WORKPLACES, False)]),
        ("Dave does not work for Northwind.", [("Dave", "Northwind", WORKPLACES, True)]),
        ("I left Northwind in March.", [("Ana", "Northwind", WORKPLACES, False)]),
        ("Dave has quit his job at Northwind.", [("Dave", "Northwind", WORKPLACES, False)]),
        ("Dave and Clara got divorced.", [("Dave", "Clara", COUPLES, False), ("Clara", "Dave", COUPLES, False)]),
        (
            "Dave and Clara met in Porto. They divorced in 2021.",
            [("Dave", "Clara", COUPLES, False), ("Clara", "Dave", COUPLES, False)],
        ),
        ("Dave is not my brother's friend.", []),
        ("Is Dave no longer my boss?", []),
        ("If Dave left Northwind, I would cry.", []),
        ("Bob says that Dave left Northwind.", []),
        ("Dave is my boss and works at Northwind.", []),
        ("Dave left early.", []),
    ],
)
def test_what_has_ended(said: str, expected: list[tuple[str | None, str, tuple[str, ...], bool]]) -> None:
    assert ended(f"Ana: {said}", "Bob: Okay.") == expected


def test_end_has_its_time() -> None:
    segment = spoken(
        "Ana: Dave left Northwind in March 2021.", "Bob: Clara left Northwind.", "Ana: Dave is not my son."
    )
    dated, undated, denied = find_names(Prose(segment)).endings
    assert dated.until == datetime(2021, 3, 1, tzinfo=UTC)
    assert undated == Ending("Northwind", "Clara", WORKPLACES, until=segment.messages[1].occurred_at)
    assert (denied.denied, denied.until) == (True, None)
