"""Answers without a model in seven languages: what is asked for, about whom, and which value is the latest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from neurigraph_pipelines.model import Quotable, Voice
from resources.offline.language_model import OfflineLanguageModel

AT = datetime(2025, 3, 1, 10, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)


def quoted(question: str, texts: list[str]) -> list[int]:
    """Return the numbers of the messages that an answer quotes, as it orders them."""
    quotable = [Quotable(text, "user", AT + timedelta(days=day), voice=Voice.OWNER) for day, text in enumerate(texts)]
    return [number for said in MODEL.answer(question, AT, quotable) for number in said.quoted]


@pytest.mark.parametrize(
    ("question", "texts", "right"),
    [
        ("Quando è il compleanno di Marco?", ["Marco ama il calcio.", "Il compleanno di Marco è il 3 ottobre."], [2]),
        ("Wanneer is Bram jarig?", ["Bram is jarig op 3 oktober.", "Bram woont in Breda."], [1]),
        ("Quando é o aniversário do Nuno?", ["O aniversário do Nuno é a 3 de outubro."], [1]),
        ("Quanti gatti abbiamo?", ["Abbiamo tre gatti.", "La cena è venerdì."], [1]),
        ("Hoeveel katten hebben wij?", ["Wij hebben drie katten.", "Het etentje is vrijdag."], [1]),
        ("Combien de chiens a Hugo ?", ["Hugo est allergique aux noix.", "Hugo a deux chiens."], [2]),
        ("Onde trabalha a Rita?", ["Moro em Braga.", "A Rita trabalha em Évora."], [2]),
        ("Waar ben ik allergisch voor?", ["Ik ben allergisch voor stof.", "Bram is allergisch voor noten."], [1]),
        ("What are our cats called?", ["We have two cats: Miso and Yuzu.", "The dog next door is called Bruno."], [1]),
        ("Which phone does Vera have?", ["Vera's phone is a Fairphone 5.", "I have a Pixel 8."], [1]),
    ],
)
def test_kinds_of_questions(question: str, texts: list[str], right: list[int]) -> None:
    assert quoted(question, texts) == right


@pytest.mark.parametrize(
    ("question", "own", "other"),
    [
        ("How much is my rent?", "My rent is 910 euros.", "The rent for my sister's flat is 700 euros."),
        ("¿Dónde vivo?", "Vivo en Vigo.", "Mi tío vive en Lugo."),
        ("Où est-ce que j'habite ?", "J'habite à Lyon.", "Mon frère habite à Lille."),
        ("Dove abito?", "Abito a Parma.", "Mio fratello abita a Bari."),
        ("Onde moro?", "Moro em Braga.", "O meu irmão mora em Faro."),
        ("A cosa sono allergico?", "Sono allergico al polline.", "Marco è allergico alle noci."),
        ("A que sou alérgico?", "Sou alérgico ao pó.", "O Nuno é alérgico a nozes."),
    ],
)
def test_questions_of_the_asker_leave_others_out(question: str, own: str, other: str) -> None:
    assert quoted(question, [other, own]) == [2]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Quanto è l'affitto?", ["L'affitto è di 600 euro.", "L'affitto ora è di 640 euro."]),
        ("Hoeveel is de huur?", ["De huur is 750 euro.", "De huur is nu 790 euro."]),
        ("Quanto é a renda?", ["A renda é de 500 euros.", "A renda agora é de 540 euros."]),
        ("Where is the spare key?", ["The spare key is under the pot.", "I moved the spare key to the garage."]),
        ("Where is the spare key?", ["The spare key is under the pot.", "The spare key is in the garage."]),
        ("Wo ist der Schlüssel?", ["Der Schlüssel ist im Flur.", "Der Schlüssel ist in der Küche."]),
        (
            "Which PostgreSQL do we use in production?",
            ["We use PostgreSQL 15 in production.", "We upgraded production to PostgreSQL 16."],
        ),
    ],
)
def test_newest_value_comes_first(question: str, texts: list[str]) -> None:
    assert quoted(question, texts) == [2, 1]
