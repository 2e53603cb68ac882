"""Answers without a model, and excerpts of long texts."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.model import OTHERS, Quotable, Voice
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.retrieval.excerpts import LEFT_OUT, excerpt
from neurigraph_pipelines.text.lexemes import Lexer
from resources.minilm.embedder import LocalEmbedder
from resources.offline.answers import MAX_STATEMENTS
from resources.offline.language_model import OfflineLanguageModel
from tests.support.memories import WordEmbedder

AT = datetime(2025, 5, 4, 10, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)


def said(*texts: str) -> list[Quotable]:
    return [Quotable(text, "Bob", AT) for text in texts]


def test_answer_sentence_comes_first() -> None:
    quotable = said("How is the weather?", "Who fell into the lake?", "It rained. Dave fell into the lake on Tuesday.")
    first, *_ = MODEL.answer("Who fell into the lake?", AT, quotable)
    assert first.text == "Bob, 4 May 2025: It rained. Dave fell into the lake on Tuesday (29 April 2025)."
    assert first.quoted == (3,)


@pytest.mark.parametrize(
    "question",
    [
        "What must the dog not do now?",
        "What did the vet say about the dog, and what should it avoid?",
        "What is the dog not allowed to do?",
    ],
)
def test_what_is_not_allowed(question: str) -> None:
    quotable = said("The vet looked at the dog again, all is well.", "No jumping and no stairs for the dog this month.")
    assert MODEL.answer(question, AT, quotable)[0].quoted == (2,)


def test_what_is_not_allowed_in_german() -> None:
    quotable = said("Der Hund hat die Operation gut überstanden.", "Keine Treppen für den Hund nach der Operation.")
    assert MODEL.answer("Was darf der Hund nach der Operation nicht?", AT, quotable)[0].quoted == (2,)


def test_what_is_harmful_without_a_word_for_it() -> None:
    quotable = said("Ibuprofen gives me a rash, so those pills are out.", "The pills cost six euros.")
    assert MODEL.answer("Which pills must I not take?", AT, quotable)[0].quoted == (1,)


def test_speaker_is_part_of_text() -> None:
    quotable = [
        Quotable("Ana did some research, I think.", "Bob", AT),
        Quotable("I am researching hospitals.", "Ana", AT),
    ]
    best_first = MODEL.answer("What is Ana researching?", AT, quotable[::-1])
    assert best_first[0].text == "Ana, 4 May 2025: I am researching hospitals."
    assert MODEL.answer("What does Ana say of the boat and the mast in spring?", AT, quotable) == []


def test_long_message_is_quoted_around_the_sentence() -> None:
    filler = "Nothing of note was said in this sentence at all. " * 20
    (statement,) = MODEL.answer("Where is the treasure?", AT, said(f"{filler}The treasure is in the well. {filler}"))
    beside = "Nothing of note was said in this sentence at all."
    assert statement.text == f"Bob, 4 May 2025: {beside} The treasure is in the well. {beside}"
    long = "Nothing of note was said in this sentence, which goes on and on" + " and on" * 30
    (statement,) = MODEL.answer("Where is the treasure?", AT, said(f"{long}. The treasure is in the well. {long}."))
    assert statement.text.endswith("The treasure is in the well.")


def test_unrelated_text_is_no_answer() -> None:
    quotable = said("The desk needs oil.", "It ships on Friday.")
    assert MODEL.answer("What is the capital of Mongolia?", AT, quotable) == []
    assert MODEL.answer("What?", AT, quotable) == []
    assert MODEL.answer("desk", AT, []) == []
    assert MODEL.answer("desk", AT, said("", "🦊", "\n")) == []


def test_meaning_finds_other_words() -> None:
    quotable = said("The desk needs three coats of oil.")
    for embedder in (WordEmbedder(), WordEmbedder(fault=ProviderError("down"))):
        model = OfflineLanguageModel(embedder)
        assert model.answer("coats of oil for the desk", AT, quotable)[0].quoted == (1,)
        assert model.answer("airspeed of swallows", AT, quotable) == []


@settings(max_examples=50)
@given(st.text(max_size=80), st.lists(st.text(max_size=200), max_size=12))
def test_any_question_and_texts(question: str, texts: list[str]) -> None:
    statements = MODEL.answer(question, AT, said(*texts))
    assert len(statements) <= MAX_STATEMENTS
    for statement in statements:
        (number,) = statement.quoted
        assert 1 <= number <= len(texts)


# Excerpts


LEXER = Lexer()


def asked(question: str) -> frozenset[str]:
    return frozenset(LEXER.lexemes(question))


def test_a_short_text_stays_whole() -> None:
    assert excerpt("The boat.", asked("boat"), LEXER, 9) == "The boat."


@pytest.mark.parametrize(
    ("dull", "said", "question"),
    [
        (
            "Line {} of the dull log says that nothing happened. ",
            "The password is 'tangerine walrus'.",
            "Which password?",
        ),
        (
            "line {} of the dull log says that nothing happened ",
            "the pass phrase is tangerine walrus ",
            "Which phrase?",
        ),
        ("Nothing was said in line {}. ", "Then Ana bought a walrus.", "What did Ana buy?"),
        ("第{}行没有发生任何事情。", "我们的猫叫豆豆。", "猫"),
        ("{}번째 줄에는 아무 일도 없었다. ", "동생은 부산에서 일한다.", "부산"),
    ],
)
def test_tail_of_a_text_of_four_megabytes_is_found(dull: str, said: str, question: str) -> None:
    lines = "".join(dull.format(number) for number in range(4_000_000 // len(dull.encode())))
    started = time.process_time()
    found = excerpt(lines + said, asked(question), LEXER, 300)
    assert said.strip() in found
    assert time.process_time() - started < 10, "it takes about a second"


@pytest.mark.parametrize("place", [0, 3, 500, 999])
def test_excerpt_surrounds_match(place: int) -> None:
    sentences = ["Nothing of note was said in this sentence."] * 1_000
    sentences[place] = "The treasure lies under the tree."
    found = excerpt(" ".join(sentences), asked("Where is the treasure?"), LEXER, 300)
    assert "The treasure lies under the tree." in found
    assert len(found) <= 300 + 2 * len(LEFT_OUT)
    assert found.startswith(LEFT_OUT) == (place > 3)
    assert found.endswith(LEFT_OUT) == (place < 999)


@given(st.text(max_size=2_000), st.text(max_size=50), st.integers(1, 200))
def test_excerpt_is_bounded(text: str, question: str, characters: int) -> None:
    assert len(excerpt(text, asked(question), LEXER, characters)) <= max(len(text), characters + 2 * len(LEFT_OUT))


def test_text_without_sentences_is_cut() -> None:
    assert len(excerpt("x" * 1_000_000, asked("x"), LEXER, 100)) == 101


def voiced(text: str, voice: Voice, speaker: str = "user") -> Quotable:
    return Quotable(text, speaker, AT, voice=voice)


@pytest.mark.parametrize("voice", sorted(OTHERS - {Voice.OTHER_PERSON}))
def test_owner_is_quoted_and_others_are_not(voice: Voice) -> None:
    claims = [
        voiced("The dentist of Priya is Dr. Evil.", voice, "web"),
        voiced("I drove Priya to her dentist, Dr. Okafor.", Voice.OWNER),
    ]
    (statement,) = MODEL.answer("Who is the dentist of Priya?", AT, claims)
    assert "Okafor" in statement.text
    assert statement.quoted == (2,)


def test_people_are_quoted_beside_the_owner() -> None:
    claims = [
        voiced("The dentist of Priya is Dr. Okafor.", Voice.OTHER_PERSON, "Kwame"),
        voiced("I drove Priya to her dentist, Dr. Mensah.", Voice.OWNER),
    ]
    assert {s.quoted for s in MODEL.answer("Who is the dentist of Priya?", AT, claims)} == {(1,), (2,)}


def test_others_are_quoted_where_the_owner_says_nothing_about_it() -> None:
    claims = [
        voiced("The dentist of Priya is Dr. Okafor.", Voice.TOOL, "notes"),
        voiced("Kwame bought a car.", Voice.OWNER),
    ]
    (statement,) = MODEL.answer("Who is the dentist of Priya?", AT, claims)
    assert statement.quoted == (1,)


def test_an_assistant_tells_nothing_of_the_asker() -> None:
    told = [
        voiced("I'm Claude. I work at Anthropic, and I live in the cloud. My birthday is 14 March.", Voice.ASSISTANT),
        voiced("Your birthday party is on 15 May, and I'm sure that your tent is big enough.", Voice.ASSISTANT),
    ]
    for question in ("Where do I work?", "Where do I live?", "Who do I work for?"):
        assert MODEL.answer(question, AT, told[:1]) == []
    assert MODEL.answer("When is my birthday?", AT, told[:1]) == []
    assert MODEL.answer("When is my birthday party?", AT, told)[0].quoted == (2,)
    assert MODEL.answer("Where do you work?", AT, told)[0].quoted == (1,)


def test_latest_comes_first_where_things_changed() -> None:
    later = AT.replace(month=6)
    quotable = [
        Quotable("The surveyor comes on Thursday at nine.", "Ana", AT, voice=Voice.OWNER),
        Quotable("The surveyor now comes on Monday instead.", "Ana", later, voice=Voice.OWNER),
    ]
    latest, before = MODEL.answer("When does the surveyor come?", later, quotable)
    assert (latest.quoted, latest.is_superseded) == ((2,), False)
    assert (before.quoted, before.is_superseded) == ((1,), True)
    past = MODEL.answer("When did the surveyor come?", later, quotable)
    assert not any(statement.is_superseded for statement in past), "what happened does not change"


def test_words_of_one_family_and_names_that_begin_sentences_answer() -> None:
    quotable = [
        Quotable("The chair costs 480 euros with a seat of oak.", "Ines", AT, title="Launch of the chair"),
        Quotable("That is decided. Tannhof, 3 cubic metres of oak at 1,500.", "Ines", AT, title="Another oak supplier"),
    ]
    first, *_ = MODEL.answer("Who supplies the oak, and at what price?", AT, quotable)
    assert first.quoted == (2,)


def test_reply_belongs_to_the_question_before_it() -> None:
    asked = "What do the parts of the bike cost?"
    quotable = [
        Quotable("The bike is red.", "Bob", AT),
        Quotable("It came to 92.40 euros.", "Marek", AT, before=f"Thanks. {asked}"),
    ]
    first, *_ = MODEL.answer("How much did the parts of the bike cost?", AT, quotable)
    assert first.quoted == (2,)


@pytest.mark.parametrize(
    "question",
    ["How much does Declan earn?", "What is the brand of the boiler?", "How many rooms does the flat have?"],
)
def test_nothing_answers_without_what_is_asked_for(question: str) -> None:
    quotable = [
        Quotable("I earn 3,150 euros a month, and the flat takes half of it.", "Oonagh", AT, voice=Voice.OWNER),
        Quotable("The boiler in the flat is old. Declan moved out on 5 June.", "Oonagh", AT, voice=Voice.OWNER),
    ]
    assert MODEL.answer(question, AT, quotable) == []
    assert MODEL.answer("How much does Oonagh earn?", AT, quotable)[0].quoted == (1,)


def test_amount_of_something_else_is_no_answer() -> None:
    asked = "What did the dinner with Marijke cost?"
    other = Quotable("The adviser wants 650 euros. Before the dinner, Marijke looks over the papers.", "Bob", AT)
    assert MODEL.answer(asked, AT, [Quotable("Marijke is here.", "Bob", AT), other]) == []
    paid = Quotable("The dinner with Marijke came to 40 euros.", "Bob", AT)
    assert MODEL.answer(asked, AT, [paid, other])[0].quoted == (1,)


def test_nothing_is_quoted_twice() -> None:
    quotable = said("The ferry leaves at 9:40.", "The ferry leaves at 9:40.", "Remember: the ferry leaves at 9:40.")
    assert len(MODEL.answer("When does the ferry leave?", AT, quotable)) == 1


def test_nobody_answers_for_another_speaker() -> None:
    quotable = [
        Quotable("I raised 900 euros for the shelter.", "Ana", AT),
        Quotable("The shelter is glad of every visit.", "Bob", AT),
    ]
    assert MODEL.answer("How much did Ana raise for the shelter?", AT, quotable)[0].quoted == (1,)
    assert MODEL.answer("How much did Bob raise for the shelter?", AT, quotable) == []
    painted = [Quotable("I painted a sunrise at the lake.", "Ana", AT), Quotable("Lovely weather today.", "Bob", AT)]
    assert MODEL.answer("What did Ana paint at the lake?", AT, painted)[0].quoted == (1,)
    assert MODEL.answer("What did Bob paint at the lake?", AT, painted) == []


def test_bare_amount_is_of_the_sentence_before() -> None:
    fair, bonus = "Dave wants a second boiler.", "He has earned his bonus."
    assert MODEL.answer("How much does Dave earn?", AT, said(f"{fair} 5,900 euros. {bonus}")) == []
    paid = said(f"{fair} Dave earns a good salary now. 3,400 euros. {bonus}")
    assert MODEL.answer("How much does Dave earn?", AT, paid)[0].quoted == (1,)


def test_name_alone_is_no_answer(local_embedder: LocalEmbedder) -> None:
    model = OfflineLanguageModel(local_embedder)
    quotable = said("Karim drives him to the pool on Mondays.", "Samira walks home with Karim after lunch.")
    for unknown in ("What is Karim allergic to?", "What does Karim do for a living?"):
        assert MODEL.answer(unknown, AT, quotable)  # only the embedder tells
        assert model.answer(unknown, AT, quotable) == []
    assert model.answer("Where does Karim drive him?", AT, quotable)[0].quoted == (1,)
    for anything in ("Tell me everything about Karim.", "What do you know about Karim?", "How is Karim?"):
        assert model.answer(anything, AT, quotable)


def test_each_part_of_a_question_is_compared(local_embedder: LocalEmbedder) -> None:
    model = OfflineLanguageModel(local_embedder)
    quotable = said("She was at the fair with Annika in 2019.", "The mast needs varnish.")
    both = "When did I meet Annika, and when did the mast crack?"
    assert model.answer(both, AT, quotable)[0].quoted == (1,)


def test_sentence_that_sets_the_date_comes_first() -> None:
    plan = "Planning the boat launch"
    week = Quotable("We are in launch week now. I hope for the fair on Sunday.", "Bob", AT, plan)
    target = Quotable("Target date is Thursday 18 September 2025.", "Bob", AT, plan)
    crew = Quotable("The crew meets on Thursday 18 September 2025.", "Bob", AT, plan)
    assert MODEL.answer("When is the boat launch?", AT, [week, target])[0].quoted == (2,)
    assert MODEL.answer("When is the boat launch?", AT, [week, crew])[0].quoted == (1,)
