"""What questions ask for in four languages, and whether sentences have it."""

from __future__ import annotations

import time

import pytest

from resources.offline.fitting import fit, names_in, uncapitalised, values
from resources.offline.questions import Kind, Trust, families, read, words_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When does the ferry leave?", Kind.WHEN),
        ("By what date must I pay?", Kind.WHEN),
        ("Wann kommt der Monteur?", Kind.WHEN),
        ("¿Cuándo llega el tren?", Kind.WHEN),
        ("Quand part le train ?", Kind.WHEN),
        ("How much did the roof cost?", Kind.MONEY),
        ("What does Ana earn?", Kind.MONEY),
        ("Was kostet das Rad?", Kind.MONEY),
        ("¿Cuánto cuesta la bici?", Kind.MONEY),
        ("How many chairs did we sell?", Kind.COUNT),
        ("Wie viele Stühle haben wir?", Kind.COUNT),
        ("How long is the pier?", Kind.MEASURE),
        ("Wie schwer ist der Hund?", Kind.MEASURE),
        ("Who repairs the boiler?", Kind.WHO),
        ("Wer repariert die Heizung?", Kind.WHO),
        ("¿Quién arregla la caldera?", Kind.WHO),
        ("From where comes the wood?", Kind.WHERE),
        ("Wo liegt der Schlüssel?", Kind.WHERE),
        ("¿Dónde está la llave?", Kind.WHERE),
        ("Which brand is the boiler?", Kind.NAME),
        ("What is the number of the policy?", Kind.NUMBER),
        ("What is the code of the safe?", Kind.NUMBER),
        ("What is the code phrase of the submarine?", Kind.OTHER),
        ("What is the code name of the project?", Kind.NAME),
        ("Did Ana sign the lease?", Kind.YES_NO),
        ("Was the lease signed?", Kind.YES_NO),
        ("Hat Ana den Vertrag unterschrieben?", Kind.YES_NO),
        ("Why did the boat sink?", Kind.OTHER),
        ("boat", Kind.YES_NO),
        ("Where was Ana born?", Kind.WHERE),
        ("When was the wedding?", Kind.WHEN),
        ("How much was the rent?", Kind.MONEY),
        ("Was my dog going to die?", Kind.YES_NO),
        ("Where does the dove live?", Kind.WHERE),
        ("Dove abita mia sorella?", Kind.WHERE),
        ("Waar was Ana geboren?", Kind.WHERE),
        ("Am Montag kommt wer?", Kind.WHO),
    ],
)
def test_question_wants(question: str, kind: Kind) -> None:
    asked = read(question, words_of("en"))
    assert asked.kinds == (kind,)


def test_language_of_a_question_decides_what_its_words_ask() -> None:
    assert read("Wie heeft de sleutel van het huis?", words_of("nl")).kinds == (Kind.WHO,)
    assert read("Wie heißt der Hund?", words_of("de")).kinds == (Kind.OTHER,)


def test_question_of_two_things() -> None:
    asked = read("Who sang at the fair, and for how much?", words_of("en"))
    assert asked.kinds == (Kind.WHO, Kind.MEASURE)
    assert asked.trust is Trust.LOOSE
    assert asked.anchors == {"sing", "fair"}


@pytest.mark.parametrize(
    ("question", "fitting", "unfitting"),
    [
        ("When is the fair?", "It is on 5 June.", "It is at the lake."),
        ("Where is my bike?", "It is in Bonn.", "I am tired and have a Honda."),
        ("When is the fair in June?", "On the 5th.", "There is a fair in June."),
        ("How much is the fee?", "They want £35.", "They meet on 5 June."),
        ("How many jars do we get?", "Twelve jars, he says.", "A few jars, he says."),
        ("How many rooms does it have?", "Six, he says.", "It costs six euros, and I like the red one."),
        ("How many people come?", "So it's 31.", "He was stung 11 times."),
        ("How much does the hive cost?", "He wants 400 in cash.", "He was stung 11 times."),
        ("How heavy is the bell?", "It weighs 40 kilos.", "It is from 1890."),
        ("Who paints the boat?", "I asked Priya.", "I asked around."),
        ("Where is the key?", "It is in Leeds.", "It is lost."),
        ("What is the name of the dentist?", "My dentist is Okafor.", "My dentist is good."),
        ("What is the number of the policy?", "Policy 4471-0926.", "The policy ends on 5 June."),
    ],
)
def test_sentence_fits(question: str, fitting: str, unfitting: str) -> None:
    words = words_of("en")
    asked = read(question, words)
    people = names_in(fitting, words)
    assert fit(asked, fitting, words, people) > fit(asked, unfitting, words, people) == 0


def test_values_are_what_the_question_does_not_name() -> None:
    asked = read("When is the fair in June?", words_of("en"))
    assert values(asked, "The fair in June is on the 5th, no, Friday.") == {"5th", "friday"}


def test_families_share_a_long_beginning() -> None:
    found = families(
        frozenset({"suppli", "moistur", "plan"}), {"supplier", "supplementari", "moist", "planet", "suppli"}
    )
    assert found == {"supplier": {"suppli"}}


def test_a_name_begins_a_sentence() -> None:
    words = words_of("en")
    text = "Tannhof, I think. Mostly oak. Price is low. Oak is hard."
    assert names_in(text, words, uncapitalised("a low price, oak")) & set(words.lexemes(text)) == {"tannhof"}


@pytest.mark.parametrize("unit", ["1.", "a ", "5 June ", "in ", "A", "9:", "my ", '"', "1 "])
def test_fitting_is_linear(unit: str) -> None:
    words = words_of("en")
    text = unit * (20_000 // len(unit))
    for question in ("When?", "How much does it cost?", "How many days?", "Who?", "Where?", "What is its name?"):
        asked = read(question, words)
        started = time.process_time()
        fit(asked, text[:320], words, names_in(text, words))
        assert time.process_time() - started < 1
