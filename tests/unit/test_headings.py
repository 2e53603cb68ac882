"""Sentences as headings."""

from __future__ import annotations

import pytest

from resources.offline.headings import MAX_HEADING, heading


@pytest.mark.parametrize(
    ("sentence", "language", "title"),
    [
        ("The gate code of the workshop is 4711.", "en", "Gate code of the workshop"),
        ("My passport expires on 9 March 2036.", "en", "Passport expires 9 March 2036"),
        ("I have a rash on my left arm since I changed the detergent.", "en", "Rash on my left arm"),
        ("By the way, the old bench was washed away.", "en", "Old bench was washed away"),
        ("Wir ziehen im Januar nach Hamburg, mit Katze.", "de", "Wir ziehen im Januar nach Hamburg"),
        ("Yes.", "en", "Yes"),
        ("", "en", ""),
    ],
)
def test_heading(sentence: str, language: str, title: str) -> None:
    assert heading(sentence, language) == title


def test_heading_is_short() -> None:
    assert len(heading("word " * 40, "en")) <= MAX_HEADING
    assert len(heading("x" * 400, "de")) <= MAX_HEADING
