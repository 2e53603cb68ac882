"""Sentences as headings."""

from __future__ import annotations

import pytest

from resources.offline.language_model import OfflineLanguageModel
from resources.offline.titles import MAX_HEADING, heading
from tests.support.chats import chat


@pytest.mark.parametrize(
    ("sentence", "language", "title"),
    [
        ("The gate code of the workshop is 4711.", "en", "Gate code of the workshop"),
        ("My passport expires on 9 March 2036.", "en", "Passport expires 9 March 2036"),
        ("I have a rash on my left arm since I changed the detergent.", "en", "Rash on my left arm"),
        ("By the way, the old bench was washed away.", "en", "Old bench was washed away"),
        ("Wir ziehen im Januar nach Hamburg, mit Katze.", "de", "Wir ziehen im Januar nach Hamburg"),
        ("The door code of the flat is 8830, and the key hangs there.", "en", "Door code of the flat"),
        ("When do I prune the apple tree?", "en", "When to prune the apple tree"),
        ("Which papers do I need for the car?", "en", "Papers for the car"),
        ("I also have to give a speech at Nora's wedding.", "en", "Speech at Nora's wedding"),
        ("Completely different subject: Lina wants a piano.", "en", "Lina wants a piano"),
        ("A caldeira parou. ", "pt", "A caldeira parou"),
        (
            "Choir sings Rutter's Requiem at the spring concert on 30 March in the hall.",
            "en",
            "Choir sings Rutter's Requiem at the spring concert",
        ),
        (
            "Are we really walking in Slovenia this summer or was that the wine talking?",
            "en",
            "Are we really walking in Slovenia this summer",
        ),
        (
            "Am Samstag ist bei uns der Schlauch vom Geschirrspüler geplatzt.",
            "de",
            "Am Samstag ist bei uns der Schlauch vom Geschirrspüler…",
        ),
        ("話は変わりますが、確定申告の書類です。", "ja", "確定申告の書類です"),
        ("Yes.", "en", "Yes"),
        ("", "en", ""),
    ],
)
def test_heading(sentence: str, language: str, title: str) -> None:
    assert heading(sentence, language) == title


def test_heading_is_short() -> None:
    assert len(heading("word " * 40, "en")) <= MAX_HEADING
    assert len(heading("x" * 400, "de")) <= MAX_HEADING


def test_long_talk_has_the_sentence_that_it_begins_with() -> None:
    said = [("Marek", "Good morning! How are you?"), ("Ilse", "Marek, my bike grinds on the right pedal.")]
    said += [("Marek", f"Did you clean chain link number {number}?") for number in range(1, 20)]
    assert OfflineLanguageModel(None).summarize(chat(*said), 200).title == "Bike grinds on the right pedal"
