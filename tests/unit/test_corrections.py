"""Corrections: which sentence of a new summary came in the place of which words."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.text.corrections import correction_of, corrections_of
from neurigraph_pipelines.text.lexemes import lexer_of


def corrected(before: str, after: str, said: str, language: str = "english") -> str | None:
    lexer = lexer_of(language)
    found = correction_of(said, corrections_of(before, after, lexer), lexer)
    return found.text if found else None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("The user has a rash.", "The user has no rash.", "I have a rash."),
        ("Bob's gate code is 4711.", "Bob's gate code is 9922.", "By the way: the code of the gate is 4711!"),
        ("Ana lives in Leipzig.", "Ana lives in Hamburg.", "We live in Leipzig now."),
        ("Der Pass gilt bis 9. März 2026.", "Der Pass gilt bis 9. März 2036.", "Er gilt bis 9. März 2026."),
        ("On 3 May 2026: The key costs 40 euros.", "On 3 May 2026: The key costs 45 euros.", "It costs 40 euros."),
    ],
)  # fmt: skip
def test_what_another_sentence_replaced_is_corrected(before: str, after: str, said: str) -> None:
    assert corrected(before, after, said) == after
    assert corrected(before, after, after) is None


def test_the_other_sentences_stand() -> None:
    before = "The green key hangs by the door. The red key costs 40 euros. Ana called."
    after = "The green key hangs by the door. The red key costs 45 euros. Bob was out."
    assert corrected(before, after, "The red key costs 40 euros.") == "The red key costs 45 euros."
    for said in ("The green key hangs by the door.", "A key costs 30 euros in the shop next door."):
        assert corrected(before, after, said) is None
    assert corrected(before, after, "") is None


@pytest.mark.parametrize(
    "after",
    ["", "The red key costs 40 euros. Ana paid.", "The red key costs 40 euros and hangs by the door.",
     "It costs 40 euros, the red key."],
)  # fmt: skip
def test_what_was_dropped_added_or_reworded_corrects_nothing(after: str) -> None:
    assert corrected("The red key costs 40 euros.", after, "The red key costs 40 euros.") is None
