"""Sources that restate themselves, and what an answer quotes of them."""

from __future__ import annotations

from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.retrieval.restating import once_a_source, restated, times_said

SAID = frozenset({"locker", "mina", "47"})


def test_three_messages_that_say_the_same_restate() -> None:
    messages = [("chat", SAID), ("other", SAID), ("chat", SAID | {"clear"}), ("chat", SAID | {"check", "again"})]
    assert restated(messages) == {1: ("chat", 3), 3: ("chat", 3), 4: ("chat", 3)}
    assert restated(messages[:3]) == {}, "two may be a correction"


def test_other_words_are_no_restatement() -> None:
    assert restated([("chat", SAID), ("chat", SAID), ("chat", frozenset({"boat", "mast", "mina"}))]) == {}
    assert restated([("chat", frozenset[str]())] * 3) == {}, "without words"


def test_independent_sources_restate_nothing() -> None:
    assert restated([(str(number), SAID) for number in range(9)]) == {}


def test_restating_source_is_quoted_once() -> None:
    found = {1: ("chat", 3), 2: ("chat", 3), 4: ("chat", 3), 5: ("talk", 4)}
    given = [Statement(str(number), (number,)) for number in (1, 2, 3, 4, 5)]
    assert [one.text for one in once_a_source(given, found)] == ["1", "3", "5"]
    both = [Statement("a", (1,)), Statement("b", (2, 3)), Statement("c", (3, 4))]
    assert once_a_source(both, found) == both, "another source says so, too"


def test_times_are_said_of_restating_sources_alone() -> None:
    found = {1: ("chat", 3), 5: ("talk", 4)}
    assert [times_said(numbers, found) for numbers in ((1,), (1, 5), (1, 2), (2,), ())] == [3, 4, 0, 0, 0]
