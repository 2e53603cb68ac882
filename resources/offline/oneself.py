"""What speakers say of themselves, and words of questions that answers say in another form.

``I work as a nurse`` says a job without the word, ``Ben earns 3,000 euros`` a salary.
"""

from __future__ import annotations

import re

from resources.offline.lexicon import forms

_FORMS = forms("oneself")

_JOB = (
    r"\bwork(?:s|ed|ing)? as\b|\b(?:am|is|are)\b an? (?!vegetarian|vegan|member|fan|lot|bit|little|big|good|mother|"
    r"father|man|woman)|['’]m an? (?!vegetarian|vegan|member|fan|lot|bit|little|big|good|mother|father|man|woman)|"
    r"\barbeite\w* als\b|\b(?:bin|ist) (?:von Beruf )?[A-ZÄÖÜ]\w{3,}|\btrabaj\w+ (?:como|de)\b|"
    r"\b(?:soy|es) (?:una? )?\w+(?:ora?|er[oa]|ista|nte|ic[oa]|eóloga?)\b|\btravaill\w+ comme\b|"
    r"\b(?:suis|est) \w+(?:eur|euse|ière?|iste|ienn?e?)\b|\blavoro come\b|\bwerk als\b|\btrabalho como\b"
)
_SAID_BY = (
    ("job jobs profession occupation living beruf trabajo profesión métier lavoro beroep profissão", _JOB),
    (
        "salary salaries wage wages income gehalt gehälter lohn sueldo sueldos salario salarios salaire salaires",
        r"\b(?:earn|verdien|gana|gagn|guadagn)\w*",
    ),
    (
        "live lives living wohne wohnst wohnt vivo vives vive habite habites habitons abito abiti abita "
        "woon woont moro mora",
        r"\b(?:have |has |['’]ve |['’]s )?moved (?:\w+ )?(?:to|into)\b|\bgezogen\b|\bumgezogen\b|\bmud(?:é|ó|ei|ou)\b|"
        r"\b(?:dé|em)ménagé\w*|\btrasferit\w|\bverhuisd\b",
    ),
    ("dose doses dosage dosis dosen dosierung", r"\d\s?(?:mg|ml|µg|mcg|g|tablets?|pills?|tabletten?|drops)\b"),
)
_OTHER_FORMS = tuple((frozenset(nouns.split()), re.compile(form)) for nouns, form in _SAID_BY)
_ABOUT_PERSONS = {
    name: re.compile(rf"\b(?:{words})\b", re.I)
    for name, words in {
        "home": r"lives?|lived|wohn\w*|lebt|viv[eoí]\w*|habite\w*|abita\w*|woont?",
        "birth": r"born|birthday|geboren|geburtstag|nació|nací|cumpleaños|née?|anniversaire",
        "work": r"works?|worked|working|job|arbeite\w*|beruf|trabaj\w+|travaill\w+|lavor\w+|werkt?",
        "allergy": r"allerg\w*|alérg\w*",
        "loan": r"lent|lends?|borrow\w*|geliehen|prest[óaoé]\w*|prêt[ée]\w*",
    }.items()
}
"""Words of some things that are often asked about people."""


MOST_WORDS = 8
"""Words of a question up to which it asks for nothing else."""


def tells_of_itself(text: str) -> bool:
    """Return whether a sentence of an assistant is about the assistant."""
    return _FORMS.of_itself.search(text) is not None


def said_in_other_words(question: str, text: str) -> list[str]:
    """Return the words of a question that a sentence says in another form."""
    asked = frozenset(_FORMS.word.findall(question.casefold()))
    return [word for nouns, form in _OTHER_FORMS if asked & nouns and form.search(text) for word in asked & nouns]


def says_another(question: str, text: str) -> bool:
    """Return whether a short question asks for one thing about a person, as for a home, and a sentence says another."""
    asked = {name for name, words in _ABOUT_PERSONS.items() if words.search(question)}
    if len(asked) != 1 or len(_FORMS.word.findall(question)) > MOST_WORDS:
        return False
    said = {name for name, words in _ABOUT_PERSONS.items() if words.search(text)}
    return bool(said) and asked.isdisjoint(said) and not ("home" in asked and _FORMS.at_home.search(text))
