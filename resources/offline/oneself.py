"""Words of speakers about themselves, and words of questions that answers say in another form.

``I work as a nurse`` says a job without the word, ``Ben earns 3,000 euros`` a salary.
"""

from __future__ import annotations

import re

from resources.offline.lexicon import forms
from resources.offline.questions import Words
from resources.offline.retelling import SAME_IN_PAST, is_past

_FORMS = forms("oneself")

_SAID_BY = [(frozenset(nouns.split()), form) for nouns, form in _FORMS.table("said_by")]
_ABOUT_PERSONS = dict(_FORMS.table("about_persons"))
"""Words of some things that are often asked about people."""


MOST_WORDS = 8
"""Words of a question up to which it asks for nothing else."""
_SPEAKS = dict(_FORMS.table("speaks"))


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


def tells_deed(question: str, text: str, anchors: frozenset[str], said: frozenset[str], words: Words) -> bool:
    """Return whether a sentence of the person asked about tells that they did what the question asks about.

    Args:
        anchors: The lexemes that an answer is about.
        said: The lexemes of the sentence and its speaker.
    """
    if _FORMS.undone.search(text) or text.rstrip().endswith("?"):
        return False
    asked = frozenset(_FORMS.piece.findall(_FORMS.is_it_that.sub(" ", question.casefold())))
    asks = asked & _SPEAKS.keys()
    if not asks:
        return anchors <= said and any(_is_done(match, anchors, words) for match in _FORMS.done.finditer(text))
    told = frozenset(_FORMS.piece.findall(text.casefold()))
    is_own = any(_SPEAKS[ask].fullmatch(word) for ask in asks for word in asked - asks)
    # French elides the pronoun: "ai-je planté" is told as "j'ai planté".
    return is_own and asked - asks <= told | ({"je"} if "j" in told else frozenset())


def _is_done(match: re.Match[str], anchors: frozenset[str], words: Words) -> bool:
    verb = match["verb"].lower()
    is_told = bool(match["has"]) or is_past(verb) or verb in SAME_IN_PAST or verb in ("was", "had", "did", "were")
    return is_told and (not anchors.isdisjoint(words.lexemes(verb)) or verb in ("was", "were"))
