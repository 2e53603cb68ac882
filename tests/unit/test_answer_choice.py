"""Which sentences an answer without a model quotes: those about the same person and thing, with what is asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from neurigraph_pipelines.model import Quotable, Voice
from resources.offline.language_model import OfflineLanguageModel

AT = datetime(2025, 3, 1, 10, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)

FLATS = [f"The rent for flat {flat} is {rent} euros." for flat, rent in (("A", 900), ("B", 950), ("C", 1200))]
WOHNUNGEN = [
    f"Die Miete für Wohnung {flat} beträgt {rent} Euro." for flat, rent in (("A", 900), ("B", 950), ("C", 1200))
]
PISOS = [f"El alquiler del piso {flat} es de {rent} euros." for flat, rent in (("A", 900), ("B", 950), ("C", 1200))]
LOYERS = [
    f"Le loyer de l'appartement {flat} est de {rent} euros." for flat, rent in (("A", 900), ("B", 950), ("C", 1200))
]
ROOMS = [f"Room {room} costs {price} euros." for room, price in ((1, 40), (2, 55), (3, 70))]
OPENING = [f"The museum opens at {hour} on {day}." for hour, day in ((9, "Monday"), (10, "Saturday"), (11, "Sunday"))]
HOMES = ["Ana lives in Rome.", "Ben lives in Oslo.", "Carl lives in Bern."]
LENDERS = [
    "Ines lent me 300 euros on 4 April.",
    "Marek lent me his drill.",
    "My neighbour Otto has a parrot called Rudi.",
    "My sister lives in Malmö.",
    "My brother lives in Bergen.",
]
PHONES = ["Ana's phone number is 555 1234.", "Ben's phone number is 555 9876."]


def quoted(question: str, texts: list[str]) -> list[int]:
    """Return the numbers of the messages that an answer quotes, in order of the messages."""
    quotable = [Quotable(text, "user", AT + timedelta(days=day), voice=Voice.OWNER) for day, text in enumerate(texts)]
    return sorted(number for said in MODEL.answer(question, AT, quotable) for number in said.quoted)


@pytest.mark.parametrize(
    ("question", "texts", "right"),
    [
        ("What is the rent for flat B?", FLATS, [2]),
        ("How much is flat A?", FLATS, [1]),
        ("What are the rents of the flats?", [*FLATS, "The cat sleeps."], [1, 2, 3]),
        ("Wie hoch ist die Miete für Wohnung B?", WOHNUNGEN, [2]),
        ("Wie hoch sind die Mieten?", [*WOHNUNGEN, "Die Katze schläft."], [1, 2, 3]),
        ("¿Cuánto es el alquiler del piso B?", PISOS, [2]),
        ("Quel est le loyer de l'appartement B ?", LOYERS, [2]),
        ("Quels sont les loyers des appartements ?", [*LOYERS, "Le chat dort."], [1, 2, 3]),
        ("What do the rooms cost?", ROOMS, [1, 2, 3]),
        ("How much is room 2?", ROOMS, [2]),
        ("When does it open on Saturday?", OPENING, [2]),
        ("When does the museum open on Sunday?", OPENING, [3]),
        ("When does the museum open?", OPENING, [1, 2, 3]),
        ("When does the museum open on Tuesday?", OPENING, []),
        ("When does the museum open on Tuesday?", [*OPENING, "The museum opens at 8 from Monday to Friday."], [4]),
        ("When does the museum open on Tuesday?", ["The museum opens daily at 9.", *OPENING], [1]),
        ("Wann öffnet das Museum am Dienstag?", ["Das Museum öffnet am Montag um 9 Uhr."], []),
        ("¿Cuándo abre el museo el martes?", ["El museo abre el lunes a las 9."], []),
        ("Quando apre il museo martedì?", ["Il museo apre lunedì alle 9.", "Il museo apre martedì alle 10."], [2]),
        ("How much rent did I pay in July?", ["I paid 40 euros of rent in May."], []),
        ("When may I open the museum?", ["The museum opens at 9 in June."], [1]),
        (
            "What did I do on 28 February 2025?",
            ["On 28 February 2025 I repaired the boiler.", "On 3 March 2025 I sold the car."],
            [1],
        ),
        (
            "Was kosten Brot, Käse und Wein?",
            ["Brot kostet 3 Euro.", "Käse kostet 5 Euro.", "Wein kostet 8 Euro.", "Die Katze schläft."],
            [1, 2, 3],
        ),
        ("Where is the spare key?", ["The spare key is with neighbour Liv.", "The cat sleeps."], [1]),
        ("¿Dónde está la llave?", ["La llave está con Liv.", "El gato duerme."], [1]),
        ("Who fixed the boiler?", ["Tom fixed the boiler.", "Ana likes the boiler.", "The boiler is old."], [1]),
        (
            "Where do we eat on Friday?",
            ["On Friday we eat at Luigi's.", "On Saturday we eat at Ada's.", "On Friday it rains."],
            [1],
        ),
        ("Where is the spare key?", ["The spare key is in the drawer.", "Ana lost a key in Rome."], [1]),
        ("Who repaired the boiler?", ["Tom repaired the boiler.", "Ana called about the boiler."], [1]),
        ("Wo ist der Ersatzschlüssel?", ["Der Ersatzschlüssel ist im Schrank.", "Ana ist in Rom."], [1]),
        ("Where do I live?", ["I live in Bonn.", "I moved to Kiel."], [1, 2]),
        ("Which instruments do I play?", ["I play the cello.", "I play the violin.", "The cat sleeps."], [1, 2]),
        (
            "Tell me everything about Dave.",
            ["Dave told us a story.", "We went fishing with Dave.", "The cat sleeps."],
            [1, 2],
        ),
        ("Where does Ben live?", HOMES, [2]),
        ("Who lives in Rome?", HOMES, [1]),
        ("What is Ben's phone number?", PHONES, [2]),
        ("Where does my sister live?", ["My sister lives in Leeds.", "I live in Kiel."], [1]),
        ("Wo wohnt meine Schwester?", ["Meine Schwester wohnt in Leeds."], [1]),
    ],
)
def test_what_answers_is_quoted_and_nothing_else(question: str, texts: list[str], right: list[int]) -> None:
    assert quoted(question, texts) == right


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Where does my brother live?", ["My sister lives in Leeds."]),
        ("Wo wohnt mein Bruder?", ["Meine Schwester wohnt in Leeds."]),
        ("¿Dónde vive mi hermano?", ["Mi hermana vive en Leeds."]),
        ("Où habite mon frère ?", ["Ma sœur habite à Leeds."]),
        ("What is my daughter called?", ["My son is called Viktor."]),
        ("What is Dora's phone number?", PHONES),
        ("Where does Dora live?", HOMES),
        ("How much does Dora earn?", ["Ana earns 3000 euros.", "Ben earns 3500 euros."]),
        ("Where does Ines live?", ["Ines was born in 1987 in Porto.", "Ines lent me 300 euros on 4 April."]),
        ("What is my sister allergic to?", ["My sister lives in Malmö."]),
        ("Wo wohnt mein Bruder?", ["Mein Bruder arbeitet bei der Post."]),
        ("¿Dónde vive mi hermano?", ["Mi hermano trabaja en Correos."]),
        ("Où habite mon frère ?", ["Mon frère travaille à la Poste."]),
        ("¿Dónde vive mi hermano?", ["Mi hermana vive en Bilbao."]),
        ("What is my job?", ["Paul works as a baker."]),
        ("Where do I live?", ["Zoltan lives in Oslo."]),
        ("What is my dog called?", ["Maria has a dog called Bruno."]),
        ("What is my dog called?", ["My neighbour's dog is called Rex."]),
        ("Do I have a dog?", ["Maria has a dog called Bruno."]),
        ("What is my parrot called?", ["My neighbour Otto has a parrot called Rudi."]),
        ("When is my birthday?", ["Marek's birthday is on 29 February."]),
        ("Am I allergic to walnuts?", ["Otto is allergic to walnuts."]),
        ("What is my sister allergic to?", ["My neighbour Otto has a parrot called Rudi."]),
        ("Wie heißt mein Hund?", ["Marias Hund heißt Bruno."]),
        ("Wann habe ich Geburtstag?", ["Otto hat am 4. Mai Geburtstag."]),
        ("Bin ich gegen Walnüsse allergisch?", ["Otto ist gegen Walnüsse allergisch."]),
        ("¿Cómo se llama mi perro?", ["El perro de María se llama Bruno."]),
        ("¿Soy alérgico a las nueces?", ["Otto es alérgico a las nueces."]),
        ("Ai-je un chien ?", ["Otto a un chien."]),
        ("Quand est mon anniversaire ?", ["L'anniversaire d'Otto est le 4 mai."]),
        ("When is my wedding?", ["Lena and Paul have their wedding on 7 June."]),
        ("When is my wedding?", ["We're going to Lena and Paul's wedding on 7 June."]),
        ("When is my wedding?", ["I am invited to the wedding of Lena and Paul on 7 June."]),
        ("Wann ist meine Hochzeit?", ["Wir gehen im Juni zur Hochzeit von Lena und Paul."]),
        ("¿Cuándo es mi boda?", ["Vamos a la boda de Lena y Paul el 7 de junio."]),
        ("Quand est mon mariage ?", ["Nous allons au mariage de Lena et Paul le 7 juin."]),
        ("Where is my bike?", ["I borrowed Ana's bike in Rome."]),
        ("Where was Ana born?", ["Ana was a nurse.", "Ana was tired."]),
    ],
)
def test_nobody_else_answers(question: str, texts: list[str]) -> None:
    assert quoted(question, texts) == []


@pytest.mark.parametrize(
    ("question", "texts", "right"),
    [
        ("When is my birthday?", ["My birthday is on 4 May.", "Lena's birthday is on December 1."], [1]),
        ("What colour is my car?", ["The car is blue."], [1]),
        ("What is my job?", ["You work as a nurse."], [1]),
        ("Where is my bike?", ["Tom has the bike in Leeds."], [1]),
        ("Who fixed my boiler?", ["Tom fixed the boiler."], [1]),
        ("When is my wedding?", ["Paul's and my wedding is on 7 June."], [1]),
        ("When is my meeting?", ["My client meeting is on Friday."], [1]),
        ("Wo liegt der Schlüssel?", ["Der Schlüssel liegt zwischen den Kisten."], [1]),
        ("Wo hängt das Bild?", ["Das Bild hängt über dem Sofa."], [1]),
        ("Où est la clé ?", ["La clé est devant la porte."], [1]),
        ("Where does Ben live?", ["Ben works from home in Leeds."], [1]),
        ("Where does Ben live?", ["Ben moved to Leeds."], [1]),
        ("Who lent me the drill?", LENDERS, [2]),
        ("Who lent me the drill?", [LENDERS[1], LENDERS[0]], [1]),
        ("Wer hat mir die Leiter geliehen?", ["Ines hat mir 300 Euro geliehen."], []),
        ("Wer hat mir die Leiter geliehen?", ["Marek hat mir seine Leiter geliehen."], [1]),
        ("¿Quién me prestó el taladro?", ["Ines me prestó 300 euros.", "Marek me prestó su taladro."], [2]),
        ("Who fell into the water?", ["Dave fell into the lake."], [1]),
    ],
)
def test_what_others_know_of_the_asker_answers(question: str, texts: list[str], right: list[int]) -> None:
    assert quoted(question, texts) == right


@pytest.mark.parametrize("told", ["I work as a baker.", "My job is baking."])
def test_what_others_say_of_themselves_is_not_about_the_asker(told: str) -> None:
    assert MODEL.answer("What is my job?", AT, [Quotable(told, "Marek", AT, voice=Voice.OTHER_PERSON)]) == []


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When did I plant the quince tree?", "I planted the quince tree."),
        ("When did I read the book Extraordinaires?", "I read the book Extraordinaires."),
        ("When did I move into the new flat?", "I've finally moved into the new flat."),
        ("When did I sell the old rowing boat?", "#boat Sold the old rowing boat."),
        ("Wann habe ich die Quitte gepflanzt?", "Ich habe die Quitte gepflanzt."),
        ("Quand ai-je planté le tilleul ?", "J'ai planté le tilleul."),
        ("Quand est-ce que j'ai planté le tilleul ?", "J'ai planté le tilleul."),
        ("¿Cuándo planté el membrillo?", "Planté el membrillo."),
        ("¿Cuándo he plantado el membrillo?", "He plantado el membrillo."),
        ("Quando ho piantato il melo cotogno?", "Ho piantato il melo cotogno."),
        ("Wanneer heb ik de kweepeer geplant?", "Ik heb de kweepeer geplant."),
        ("Quando plantei o marmeleiro?", "Plantei o marmeleiro."),
    ],
)
def test_day_of_a_message_says_when_its_deed_was_done(question: str, told: str) -> None:
    (said,) = MODEL.answer(question, AT, [Quotable(told, "user", AT, voice=Voice.OWNER)])
    assert said.text == f"user, 1 March 2025: {told}"
    assert MODEL.answer(question, AT, [Quotable(told, "Ben", AT, voice=Voice.OTHER_PERSON)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ben planted the quince tree.",
        "I will plant the quince tree.",
        "I want to plant the quince tree.",
        "I plant the quince tree.",
        "I never planted the quince tree.",
        "I'd have planted the quince tree.",
        "The quince tree is old.",
        "Plant the quince tree.",
    ],
)
def test_plans_habits_and_deeds_of_others_do_not_say_when(text: str) -> None:
    assert quoted("When did I plant the quince tree?", [text]) == []


def test_question_alone_is_no_answer() -> None:
    assert quoted("Where is the spare key?", ["Where is the spare key?"]) == []


def test_quoted_question_brings_its_reply() -> None:
    asked = "Where is the spare key?"
    quotable = [Quotable(asked, "Ana", AT), Quotable("Under the blue pot.", "Ben", AT, before=asked)]
    said = MODEL.answer(asked, AT, quotable)
    assert (2,) in [one.quoted for one in said]


MEETINGS = [f"The meeting with Omar is on {day} at 10." for day in ("Monday", "Tuesday", "Friday")]
TREFFEN = [f"Das Treffen mit Omar ist am {day} um 10 Uhr." for day in ("Montag", "Dienstag", "Freitag")]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("When is the meeting with Omar?", MEETINGS),
        ("Wann ist das Treffen mit Omar?", TREFFEN),
        ("When is my appointment?", ["My appointment is on 3 June 2025.", "My appointment was moved to 10 June 2025."]),
        ("Where is the spare key?", ["The spare key is with Liv.", "The spare key is with Tom."]),
        ("How much do I weigh?", ["I weigh 80 kg.", "I weigh 79 kg.", "I weigh 78 kg."]),
        ("What is my phone number?", ["My phone number is 555 1234.", "My new phone number is 555 9999."]),
    ],
)
def test_latest_value_comes_first_and_earlier_ones_after_it(question: str, texts: list[str]) -> None:
    quotable = [Quotable(text, "user", AT + timedelta(days=day), voice=Voice.OWNER) for day, text in enumerate(texts)]
    said = [(one.quoted[0], one.is_superseded) for one in MODEL.answer(question, AT, quotable)]
    assert said == [(number, number < len(texts)) for number in range(len(texts), 0, -1)]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("What are the rents of the flats?", FLATS),
        ("What do the rooms cost?", ROOMS),
        ("When does the museum open?", OPENING),
        ("Where are the keys?", ["The keys of the shed are with Liv.", "The keys of the barn are with Tom."]),
        ("Wie hoch sind die Mieten?", WOHNUNGEN),
    ],
)
def test_values_of_several_things_are_no_versions(question: str, texts: list[str]) -> None:
    quotable = [Quotable(text, "user", AT + timedelta(days=day), voice=Voice.OWNER) for day, text in enumerate(texts)]
    assert [one.is_superseded for one in MODEL.answer(question, AT, quotable)] == [False] * len(texts)


ABOUT_ME = [
    "I am vegetarian.",
    "My birthday is on 4 May.",
    "I play the cello in the Brno city orchestra.",
    "My son is called Viktor.",
    "I work as a bridge engineer.",
]


@pytest.mark.parametrize(
    ("question", "texts", "right"),
    [
        ("What is my job?", ABOUT_ME, [5]),
        ("What is my job?", ["I am a nurse in Kiel.", "My brother is a plumber."], [1]),
        ("What is my brother's job?", ["I am a nurse in Kiel.", "My brother is a plumber."], [2]),
        ("What is my sister's job?", ["I am a nurse in Kiel.", "My brother is a plumber."], []),
        ("Was ist mein Beruf?", ["Ich bin Krankenschwester in Kiel."], [1]),
        ("Who bought a kayak?", ["I bought a kayak.", "The weather is nice."], [1]),
        ("Which doses do I take?", ["I take 5 mg of ramipril.", "I take 9 mg of aspirin.", "The cat sleeps."], [1, 2]),
        ("What are the salaries?", ["Ana earns 3000 euros.", "Ben earns 3500 euros.", "Ben likes tea."], [1, 2]),
    ],
)
def test_answers_in_other_words(question: str, texts: list[str], right: list[int]) -> None:
    assert quoted(question, texts) == right
