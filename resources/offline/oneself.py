"""What speakers say of themselves, and words of questions that answers say in another form.

``I work as a nurse`` says a job without the word, ``Ben earns 3,000 euros`` a salary.
"""

from __future__ import annotations

from resources.offline.lexicon import forms

_FORMS = forms("oneself")

_SAID_BY = [(frozenset(nouns.split()), form) for nouns, form in _FORMS.table("said_by")]
_ABOUT_PERSONS = dict(_FORMS.table("about_persons"))
"""Words of some things that are often asked about people."""


MOST_WORDS = 8
"""Words of a question up to which it asks for nothing else."""


def tells_of_itself(text: str) -> bool:
    """Return whether a sentence of an assistant is about the assistant."""
    return _FORMS.of_itself.search(text) is not None


def said_in_other_words(question: str, text: str) -> list[str]:
    """Return the words of a question that a sentence says in another form."""
    asked = frozenset(_FORMS.word.findall(question.casefold()))
    return [word for nouns, form in _SAID_BY if asked & nouns and form.search(text) for word in asked & nouns]


def says_another(question: str, text: str) -> bool:
    """Return whether a short question asks for one thing about a person, as for a home, and a sentence says another."""
    asked = {name for name, words in _ABOUT_PERSONS.items() if words.search(question)}
    if len(asked) != 1 or len(_FORMS.word.findall(question)) > MOST_WORDS:
        return False
    said = {name for name, words in _ABOUT_PERSONS.items() if words.search(text)}
    return bool(said) and asked.isdisjoint(said) and not ("home" in asked and _FORMS.at_home.search(text))
