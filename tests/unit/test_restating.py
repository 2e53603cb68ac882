"""Sources that restate themselves, and what an answer quotes of them."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.retrieval.restating import Restated

SAID = "Mina's locker is number 47"


def times(*texts: str) -> list[int]:
    found = Restated(("chat", text) for text in texts)
    return [found.times((number,)) for number in range(1, len(texts) + 1)]


def test_three_messages_that_say_the_same_restate() -> None:
    again = [
        ("chat", SAID),
        ("other", SAID),
        ("chat", f"To be clear, {SAID}."),
        ("chat", f"I checked again: {SAID} (4)."),
    ]
    found = Restated(again)
    assert [found.times((number,)) for number in range(1, 5)] == [3, 0, 3, 3]
    assert Restated(again[:3]).times((1,)) == 0, "two may be a correction"
    assert [found.times(numbers) for numbers in ((1, 3), (1, 2), ())] == [3, 0, 0]


@pytest.mark.parametrize(
    "texts",
    [
        tuple(f"The rent for flat {flat} is {rent} euros." for flat, rent in (("A", 900), ("B", 950), ("C", 1200))),
        tuple(f"The rent for flat {flat} is 900 euros." for flat in "ABC"),
        tuple(f"The meeting with Omar is on {day} at 10." for day in ("Monday", "Tuesday", "Friday")),
        tuple(f"La reunión es el {day} a las 10." for day in ("lunes", "martes", "viernes")),
        tuple(f"{name} has a key." for name in ("Ana", "Ben", "Carl")),
        tuple(f"The {colour} door is locked." for colour in ("red", "blue", "green")),
        ("The light is on.", "The light is off.", "The light is dim."),
        ("The door is locked.", "The door is not locked.", "The door isn't locked."),
        ("Die Tür ist zu.", "Die Tür ist nicht zu.", "Die Tür ist niemals zu."),
        ("门在左边。", "门在右边。", "门在上面。"),
        ("", "", ""),
    ],
)
def test_other_values_are_no_restatement(texts: tuple[str, ...]) -> None:
    assert times(*texts) == [0, 0, 0]


def test_independent_sources_restate_nothing() -> None:
    found = Restated((str(number), SAID) for number in range(9))
    assert not any(found.times((number,)) for number in range(1, 10))


def test_restating_source_is_quoted_once() -> None:
    said = [("chat", SAID)] * 3 + [("chat", f"{SAID}, by the door."), ("chat", "Ana lives in Rome."), ("talk", SAID)]
    found = Restated(said)
    given = [Statement(str(number), (number,)) for number in range(1, 7)]
    assert [one.text for one in found.once_a_source(given)] == ["1", "4", "5", "6"], "nothing new is left out"
    assert [one.text for one in found.once_a_source(given[3:] + given[:3])] == ["4", "5", "6"]
    both = [Statement("a", (1,)), Statement("b", (2, 6)), Statement("c", (3, 5))]
    assert found.once_a_source(both) == both, "another source says so, too"
