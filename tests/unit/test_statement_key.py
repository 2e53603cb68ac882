"""Which texts say the same."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.text.statement_key import statement_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dave sails.", "  dave\n sails"),
        ("He said “no”, twice!", "he said no twice"),
        ("ＡＢＣ　１２", "abc 12"),
        ("**Lunch**: at noon", "lunch at noon…"),
        ("- the door -- is locked", "The door is locked."),
        ("Straße", "STRASSE"),
        ("我喜欢茶。", "我喜欢茶"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert statement_key(one) == statement_key(other) != 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The balance is -5 euros.", "The balance is 5 euros."),
        ("Ana writes C++.", "Ana writes C."),
        ("It costs 1.5 euros", "It costs 1,5 euros"),
        ("Dave sails?", "Dave sails."),
        ("Dave sails", "Sails Dave"),
        (".5 grams", "5 grams"),
        ("👍", "👎"),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert statement_key(one) != statement_key(other)
