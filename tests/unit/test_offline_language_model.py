"""The offline language model: dates, summaries and keywords."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.model import Outline
from neurigraph_pipelines.model.ports import LanguageModel
from resources.offline.names import person_of_author
from resources.offline.prose import sentences
from tests.support.chats import JUNK, MODEL, chat


def test_implements_port() -> None:
    model: LanguageModel = MODEL
    assert (model.name, model.concurrency) == ("offline", 1)


# Summaries
REVIEW = chat(
    ("user", "Hi! I need help preparing Dave's performance review."),
    ("assistant", "Sure, happy to help! What did he deliver?"),
    (
        "user",
        "Dave is my employee, he runs the product launch. The deadline moved to June 14 and the budget is $40,000.",
    ),
    ("assistant", "Great. Anything else?"),
    ("user", "We decided that Dave will get a raise of 5% by Friday. Thanks!"),
)


def test_summary_holds_decisions_and_numbers() -> None:
    summary = MODEL.summarize(REVIEW, 60)
    assert summary.text.startswith("On 8 May 2023: ")
    for detail in ("$40,000", "June 14", "5%", "by Friday 12 May", "Dave is the user's employee"):
        assert detail in summary.text
    assert "Thanks" not in summary.text
    assert "Anything else" not in summary.text
    assert "Dave's performance review" in summary.title
    assert summary == MODEL.summarize(REVIEW, 60)


@pytest.mark.parametrize("words", [20, 60, 200, 5_000])
def test_summary_length(words: int) -> None:
    turns = [("Ann", f"Report {i} says that machine {i} in hall {i % 7} needs part number {i}.") for i in range(400)]
    length = len(MODEL.summarize(chat(*turns), words).text.split())
    assert 0.6 * min(words, 200) <= length <= min(words, 200) + 8


def test_given_title_is_kept() -> None:
    assert MODEL.summarize(chat(("user", "Wow"), title=" Weekly   sync "), 50).title == "Weekly sync"
    assert len(MODEL.summarize(chat(("user", "Wow"), title="long title " * 50), 50).title) <= 81


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n",
        "🎉🎉",
        "hi",
        "Wow! Thanks!",
        "12345",
        "x" * 5_000,
        "|a|b|\n|-|-|\n" * 50,
        "a\x00b\ud800",
        "我们明天去北京开会。",
    ],
)
def test_any_text_has_summary_and_title(content: str) -> None:
    summary = MODEL.summarize(chat(("user", content)), 200)
    assert summary.text.strip()
    assert 0 < len(summary.title) <= 81
    assert summary.title.lower() not in JUNK
    summary.text.encode()
    summary.title.encode()


def test_chinese_is_summarised_by_sentences() -> None:
    text = "我们明天去北京开会，讨论新产品的预算。预算是五万元。好的！"
    assert "五万元" in MODEL.summarize(chat(("user", text)), 100).text


def test_transcript_noise_is_not_shown() -> None:
    shown = list(sentences("Um , I 'm Laura {vocalsound} and uh I run the the D_V_D_ project . {disfmarker}"))
    assert shown == ["I'm Laura and I run the DVD project."]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "Ann", "<b>"]), st.text(max_size=300)), min_size=1, max_size=4
    )
)
def test_no_text_is_too_strange(turns: list[tuple[str, str]]) -> None:
    segment = chat(*turns)
    assert MODEL.summarize(segment, 100).text
    MODEL.extract_keywords(segment)
    (placement,) = MODEL.place(segment, Outline())
    assert (placement.first_message, placement.last_message) == (1, len(turns))


# Keywords


def test_keywords_are_names_topics_dates_and_relationships() -> None:
    found = MODEL.extract_keywords(
        chat(
            (
                "user",
                "My sister Ana and my coworker Dave saw Lisbon last summer. Dave's wife Lena took the photos.",
            ),
            ("assistant", "Wow! What did Ana like best in Lisbon?"),
            ("user", "Hey, the tram rides. Ana loves tram rides, and the tram museum. It was Monday."),
        )
    )
    assert {"Ana", "Dave", "Lena", "Lisbon"} <= set(found.entities)
    assert not {name.lower() for name in found.entities} & JUNK
    assert "tram" in " ".join(found.topics)
    assert "2023-05-01" in found.dates
    assert set(found.relationships) == {"sister: Ana", "coworker: Dave", "Dave's wife: Lena"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my sister's husband Dave", "brother-in-law: Dave"),
        ("Dave, my brother-in-law, came.", "brother-in-law: Dave"),
        ("Dave is my boss", "boss: Dave"),
        ("dave is my boss", "boss: Dave"),
        ("Our builder Tom came.", "builder: Tom"),
        ("I met my fishing buddy Dave", "fishing buddy: Dave"),
        ("Dave married my sister Ana", "brother-in-law: Dave"),
        ("My best friend Anna Smith called", "best friend: Anna Smith"),
        ("Dr. Lee is my dentist", "dentist: Lee"),
        ("Me and my mother in law, Samira, who lives with us.", "mother-in-law: Samira"),
        ("I'm at my brother's, Tomas moves house.", "brother: Tomas"),
        ("The agent, Tobias Hale, called.", "agent: Tobias Hale"),
        ("I run with Ravi, the coach of our club, the Tram Line Runners.", "Tram Line Runners's coach: Ravi"),
        ("I'll ask Emrys. He's my cousin after all.", "cousin: Emrys"),
        ("My kids, Finn and Aoife, slept.", "child: Aoife"),
        ("We stay with auntie Cheryl.", "aunt: Cheryl"),
        ("Nora works for Lumen Press now.", "Nora works at: Lumen Press"),
        ("I work at Lumen Press.", "works at: Lumen Press"),
        ("Nora reports to Tariq.", "Nora reports to: Tariq"),
        ("Ravi Lund, a neighbour of ours, has a key.", "neighbour: Ravi Lund"),
        ("An old cousin of mine, Emrys, called.", "cousin: Emrys"),
        ("Mein Schwager, der heißt auch Jens, hilft.", "schwager: Jens"),
        ("Karl Ruf, ein Kollege von mir, kommt.", "kollege: Karl Ruf"),
        ("Cenamos con mi prima Lourdes.", "prima: Lourdes"),
        ("Ma sœur Odile arrive.", "sœur: Odile"),
    ],
)
def test_stated_relations_are_read(text: str, expected: str) -> None:
    assert expected in MODEL.extract_keywords(chat(("user", text))).relationships


@pytest.mark.parametrize(
    "text",
    [
        *("my sister Wow", "my boss Monday", "my friend and I", "my sister is Great", "my wife Ok"),
        "A gift from my grandma in my home country, Sweden.",
        "Lena, a colleague, came.",
        "My son had an accident. Thankfully he is fine.",
        "The mother came. Lena knows her.",
        "I wore it at my sister's graduation. Lena has one too.",
    ],
)
def test_ordinary_words_are_no_relatives(text: str) -> None:
    assert MODEL.extract_keywords(chat(("user", text))).relationships == ()


def test_relation_belongs_to_speaker() -> None:
    found = MODEL.extract_keywords(
        chat(
            ("Ann", "My sister Eva is here."),
            ("Ben", "Say hello to Eva, Ann. And your brother?"),
            ("Ann", "Karl, still asleep. Karl works a lot. His cat Miez is ill."),
        )
    )
    assert found.relationships == ("Ann's sister: Eva", "Ann's brother: Karl", "Karl's cat: Miez")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Mr. Osei at Cais do Sodré on Fridays.", {"Mr. Osei", "Cais do Sodré"}),
        ("Quay Street was full. Poor Jana! I saw Jana there.", {"Quay Street", "Jana"}),
        ("I called Marguerite Tully of Tully & Shaw. Marguerite was out.", {"Marguerite Tully", "Tully & Shaw"}),
        ("The Slovenian teacher is from Évora.", {"Évora"}),
        ("Use `Formatter.Run` or the Python class; ValueError means No.", {"Python"}),
        (
            "Am Samstag fährt Herr Kröger nach Graz. Die Rechnung der Nordlicht Versicherung liegt in der Küche, und "
            "Jonte hat Hunger. Der Gutachter kommt am Montag.",
            {"Herr Kröger", "Graz", "Nordlicht Versicherung", "Jonte"},
        ),
        (
            "¿Cuándo vuelve Encarna Puig a Villa de Leyva? Ella llega el Lunes con Doña Nubia.",
            {"Encarna Puig", "Villa de Leyva", "Doña Nubia"},
        ),
        ("Nous arrivons Samedi à Clermont-Ferrand avec Madame Roche.", {"Clermont-Ferrand", "Madame Roche"}),
    ],
)
def test_names_are_whole_and_ordinary_words_are_none(text: str, expected: set[str]) -> None:
    assert set(MODEL.extract_keywords(chat(("user", text))).entities) == expected


def test_owner_and_unnamed_speakers_are_no_entities() -> None:
    found = MODEL.extract_keywords(
        chat(("Bob", "Ann, did Oslo call?"), ("Ann", "Not yet, Bob."), ("Kit", "Oslo called Kofi Boateng."))
    )
    assert found.entities == ("Oslo", "Ann", "Kofi Boateng")


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("Caroline", "Caroline"),
        ("Hon. Ahmed Hussen (Minister of Families)", "Ahmed Hussen"),
        ("Lynne Neagle AM", "Lynne Neagle"),
        ("小明", "小明"),
        ("Project Manager", None),
        ("Grad A", None),
        ("The Acting Chair (Mr. Bruce Stanton)", None),
        ("speaker_1", None),
        ("<script>", None),
        ("A" * 300, None),
        ("user", None),
    ],
)
def test_role_is_no_person(author: str, name: str | None) -> None:
    assert person_of_author(author) == name


def test_keyword_fields_are_bounded() -> None:
    turns = [
        ("user", f"My friend Mary{chr(97 + i % 26)}o saw Town{chr(97 + i // 26)}x of gizmo{i} in {1900 + i % 120}.")
        for i in range(600)
    ]
    found = MODEL.extract_keywords(chat(*turns))
    assert len(found.entities) <= 30
    assert len(found.topics) <= 15
    assert len(found.dates) <= 48
    assert len(found.relationships) <= 12
