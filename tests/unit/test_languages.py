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
    assert language_of(text * 4, among) or among is None


def test_words_follow_the_language_of_their_message() -> None:
    prose = Prose(chat(("Ana", GERMAN), ("Ben", ENGLISH), ("Ana", GERMAN)))
    assert prose.language == "de"
    assert [sentence.language for sentence in prose.sentences] == ["de", "en", "de"]
    empty = [{word.lower for word in sentence.words if word.empty} for sentence in prose.sentences]
    assert {"ist", "der", "wir"} <= empty[0]
    assert {"the", "of", "our"} <= empty[1]
    assert prose.stems("Häusern") == prose.stems("Häuser")


@pytest.mark.parametrize(
    ("texts", "topics"),
    [
        (("Wann kommt der neue Ofen?", "Der Ofen kommt am Montag, und die Öfen von Ana kommen nie."), ("Ofen", "Öfen")),
        (("¿Cuándo llegan los hornos?", "Los hornos llegan en enero, dice el dueño del taller."), ("hornos", "taller")),
        (("Le four ne chauffait pas.", "Oui, l'une des recettes manquait de noisettes."), ("four", "recettes")),
        (("L'appartamento è a Bologna.", "Quanto costa un appartamento nell'autunno?"), ("appartamento",)),
        (("来週の土曜日に誕生日会をします。", "誕生日会の予約はもうしました。"), ("誕生日会",)),
        (("На прошлой неделе мы с Ольгой смотрели квартиру.", "Квартиру продаёт брат Ивана."), ("квартиру",)),
        (("케이크는 역 앞 가게에서 예약했습니다.", "케이크가 작습니다. 토요일에 받습니다."), ("케이크",)),
    ],
)
def test_topics(texts: tuple[str, ...], topics: tuple[str, ...]) -> None:
    """Topics are nouns where the language tells them, and elsewhere words that come twice; never its everyday words."""
    found = extract(Prose(chat(*(("user", text) for text in texts)))).topics
    assert any(topic in found for topic in topics), found
    verbs = "kommt kommen llegan dice chauffait manquait смотрели продаёт 예약했습니다 작습니다 します".split()
    assert not {word.casefold() for topic in found for word in topic.split()} & {*verbs, *EVERYDAY}, found


EVERYDAY = set("der die am und wann nie cuándo los en el del le ne pas oui des de l'une 来週 мы с на".split())
