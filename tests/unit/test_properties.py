"""Properties: values of which a thing has one at a time, read from a speaker's words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.model.facts import THE_USER
from resources.offline import facts
from resources.offline.fact_forms import property_of
from resources.offline.prose import Prose
from tests.support.model_clients import make_segment


def read(said: str, speaker: str | None = THE_USER) -> tuple[str, str, str] | None:
    slot = property_of(said, speaker)
    return (slot.subject, slot.predicate, slot.object) if slot is not None else None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("My passport expires on the 9th of March 2036.", ("passport", "expires", "9 March 2036")),
        ("My visa is valid until August 2027.", ("visa", "expires", "August 2027")),
        ("Ana's passport now runs out on 2036-03-09.", ("Ana's passport", "expires", "2036-03-09")),
        ("Mein Ausweis ist bis 9. März 2036 gültig.", ("ausweis", "expires", "9 März 2036")),
        ("Our car insurance is due for renewal on 1 April.", ("car insurance", "renews", "1 April")),
        ("Die Kfz-Versicherung verlängert sich am 1. April.", ("kfz-versicherung", "renews", "1 April")),
        ("The code of the workshop gate is 4711.", ("workshop gate", "code", "4711")),
        ("Update: the workshop gate code is now 9922!", ("workshop gate", "code", "9922")),
        ("Unser Torcode lautet jetzt 9922.", ("tor", "code", "9922")),
        ("The wifi password is “kingfisher”.", ("wifi", "password", "kingfisher")),
        ("Die PIN vom Tresor ist 9876.", ("tresor", "pin", "9876")),
        ("Marta's birthday is on 3 May.", ("Marta", "birthday", "3 May")),
        ("Oma hat am 4. Juli Geburtstag.", ("Oma", "birthday", "4 Juli")),
        ("Our wedding anniversary is on September 14th.", (THE_USER, "anniversary", "September 14")),
        ("We live in Leipzig.", (THE_USER, "lives in", "Leipzig")),
        ("Wir sind nach Hamburg gezogen.", (THE_USER, "moved to", "Hamburg")),
        ("Klara arbeitet jetzt bei Bosch.", ("Klara", "works at", "Bosch")),
        ("Ich bin nicht allergisch gegen Nüsse.", (THE_USER, "allergic to", "Nüsse")),
        ("Ich habe keinen Ausschlag am Arm.", (THE_USER, "has", "Ausschlag am Arm")),
    ],
)
def test_a_sentence_gives_a_thing_a_value(said: str, expected: tuple[str, str, str]) -> None:
    assert read(said) == expected


def test_a_named_speaker_owns_things() -> None:
    assert read("My passport expires on 9 March 2036.", "Bob") == ("Bob's passport", "expires", "9 March 2036")
    assert read("We live in Leipzig.", "Bob") == ("Bob", "lives in", "Leipzig")
    assert read("We live in Leipzig.", None) is None
    assert read("The gate code is 4711.", None) == ("gate", "code", "4711")


@pytest.mark.parametrize(
    "said",
    [
        "The error code is 404.", "Our code is clean.", "The code is 4711 lines long.", "The wifi password is wrong.",
        "The password is in the green book.", "The birthday party is on 3 May.", "We live in a big house.",
        "Does the passport expire on 9 March 2036?", "The meeting is on 3 May.", "The key is in the drawer.",
        "If we live in Leipzig, we need a car.", "The passport costs 60 euros.", "",
    ],
)  # fmt: skip
def test_other_sentences_have_no_property(said: str) -> None:
    assert read(said) is None


def told(role: Role, text: str) -> list[str]:
    segment = make_segment(text)
    (message,) = (replace(one, author=None, role=role) for one in segment.messages)
    return [one.statement for one in facts.extract(Prose(replace(segment, messages=(message,)), "en"))]


@pytest.mark.parametrize(
    "text",
    [
        "I am an AI and I don't have a birthday.", "I was trained by Northwind in 2024.", "My name is Ada.",
        "I live in the cloud, on servers in Dublin.", "I have a rash on my arm.", "My training data ends in 2024.",
        "Ich bin ein Sprachmodell von Northwind.",
    ],
)  # fmt: skip
def test_what_the_assistant_says_about_itself_is_no_fact(text: str) -> None:
    assert told(Role.ASSISTANT, text) == []


def test_what_the_assistant_has_done_is_one() -> None:
    assert told(Role.ASSISTANT, "I booked the table at Luigi's for 19:00 on 3 May 2026.")
    assert told(Role.USER, "I live in the cloud forest near Quito with Marta.")
