"""Words for how people stand to each other, in English, German, Spanish and French.

The English ones are in ``english.toml``, each with the topic in which it is at home.
"""

from __future__ import annotations

import re
from functools import cache

from resources.offline.lexicon import english, word_lists

_WORDS = word_lists("kin_words")
TITLES = _WORDS["titles"]
"""Relatives whose name follows the word directly: ``auntie Cheryl``."""

ANY_PROFESSION = re.compile(r"[a-z]{3,20}(?:ologist|iatrist|therapist|educator|worker)")
COMMON_FORM = {word: common for common, words in word_lists("common_form").items() for word in words}
"""The word that keywords and edges use for several of one meaning."""

OF_SOMETHING = _WORDS["of_something"]
"""Parts in an organisation: ``the owner`` alone does not say of what."""

KEPT_WITH = _WORDS["kept_with"]
"""Words that say more with the word before them: ``fishing buddy``, ``former colleague``."""

NO_QUALIFIER = _WORDS["no_qualifier"]
IN_LAWS = {word.replace("-", " "): relation for relation, words in word_lists("in_laws").items() for word in words}


@cache
def relation_words() -> frozenset[str]:
    """Return the words for relations of all languages, in the singular."""
    return frozenset((*english().relations, *_WORDS["kin"], *_WORDS["others"]))


@cache
def relatives() -> frozenset[str]:
    """Return the words for relatives: ``the mother`` is somebody's, ``the plumber`` is the speaker's."""
    return frozenset((*(word for word, topic in english().relations.items() if topic == "Family"), *_WORDS["kin"]))


def singular(word: str) -> str | None:
    """Return a word for a relation in the singular and in lower case; None if it is none.

    German nouns keep their capital in no keyword: labels are compared without case.
    """
    lower = word.lower()
    for form in (COMMON_FORM.get(lower, lower), lower.removesuffix("s"), lower.removesuffix("es")):
        if form in relation_words() or ANY_PROFESSION.fullmatch(form):
            return COMMON_FORM.get(form, form)
    return None
