"""The language of texts, and what the offline model derives from texts in several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.text.languages import STEMMERS, language_of, language_of_parts
from resources.offline.keywords import extract
from resources.offline.prose import Prose
from tests.support.chats import chat

GERMAN = "Am Samstag ist bei uns der Schlauch vom Geschirrspüler geplatzt, als wir einkaufen waren."
ENGLISH = "The hose of our dishwasher burst on Saturday while we were out shopping."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        (ENGLISH, "en"),
        ("El dueño pedía 700 euros al mes, pero lo dejamos en 650.", "es"),
        ("On se retrouve chez ma sœur dimanche, elle apporte le gâteau.", "fr"),
        ("来週の土曜日に母の家で誕生日会をします。", "ja"),
        ("Wo sind die Häuser?", "de"),
        ("OK", None),
        ("12:30, 14.5 %", None),
        ("", None),
    ],
)
def test_language(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_message_among_others() -> None:
    """A short message is in the language around it, a longer one in its own."""
    assert language_of("Wo sind die Häuser?", "en") == "en"
    assert language_of(GERMAN, "en") == "de"
    assert language_of("haha ok, no Rust. I'll tell Haruto", "en") == "en"
    assert language_of_parts(["OK", GERMAN, "Thanks!", GERMAN]) == "de"


@given(st.text(st.characters()), st.sampled_from([None, *STEMMERS]))
def test_any_text_has_an_answer(text: str, among: str | None) -> None:
    language_of(text * 4, among)


def test_words_follow_the_language_of_their_message() -> None:
    prose = Prose(chat(("Ana", GERMAN), ("Ben", ENGLISH), ("Ana", GERMAN)))
    assert prose.language == "de"
    assert [sentence.language for sentence in prose.sentences] == ["de", "en", "de"]
    empty = [{word.lower for word in sentence.words if word.empty} for sentence in prose.sentences]
    assert {"ist", "der", "wir"} <= empty[0]
    assert {"the", "of", "our"} <= empty[1]
    assert prose.stems("Häusern") == prose.stems("Häuser")


@pytest.mark.parametrize(
    "text",
    [
        "Mi mamy sąsiada, który jest bardzo miły i zawsze nam pomaga, ale się boi naszego psa.",
        "Wij gaan zaterdag naar de markt en daarna eten wij bij mijn moeder in Utrecht.",
    ],
)
def test_stop_words_are_no_topics(text: str) -> None:
    topics = extract(Prose(chat(*[("Jan", text)] * 3))).topics
    assert topics
    assert {"się", "który", "jest", "de", "en", "wij", "naar", "mijn"}.isdisjoint(topics)
