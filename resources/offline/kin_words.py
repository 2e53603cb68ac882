"""Words for how people stand to each other, in English, German, Spanish and French.

The English ones are in ``english.toml``, each with the topic in which it is at home.
"""

from __future__ import annotations

import re
from functools import cache

from resources.offline.lexicon import english, word_lists

_KIN = """
mutter vater mama papa schwester bruder sohn tochter tante onkel cousin cousine vetter nichte neffe oma opa
großmutter großvater enkel enkelin schwager schwägerin schwiegermutter schwiegervater schwiegersohn schwiegertochter
frau mann ehefrau ehemann verlobte verlobter
madre padre mamá papá hermana hermano hija hijo tía tío prima primo sobrina sobrino abuela abuelo nieta nieto cuñada
cuñado suegra suegro yerno nuera esposa esposo marido mujer
mère père maman sœur soeur frère fille fils tante oncle cousin cousine nièce neveu grand-mère grand-père belle-sœur
beau-frère belle-mère beau-père femme mari épouse époux
"""
_OTHERS = """
partner partnerin freund freundin kollege kollegin chef chefin nachbar nachbarin vermieter vermieterin ärztin arzt
zahnarzt zahnärztin tierarzt tierärztin anwalt anwältin lehrer lehrerin mitbewohner mitbewohnerin hund katze kater
kunde kundin trainer trainerin klempner handwerker
novia novio amiga amigo compañera compañero jefa jefe vecina vecino casera casero médico médica dentista abogada abogado
profesora profesor perra perro gata gato clienta cliente socia socio
compagnon compagne amie ami copine copain collègue patron patronne voisine voisin propriétaire médecin dentiste avocat
avocate professeur chien chienne chat chatte client cliente
"""

_WORDS = word_lists("kin_words")
TITLES = _WORDS["titles"]
"""Relatives whose name follows the word directly: ``auntie Cheryl``."""

ANY_PROFESSION = re.compile(r"[a-z]{3,20}(?:ologist|iatrist|therapist|educator|worker)")
COMMON_FORM = {
    "children": "child", "wives": "wife", "grandchildren": "grandchild", "kid": "child", "kids": "child",
    "mum": "mother", "mom": "mother", "dad": "father", "auntie": "aunt", "granny": "grandmother",
    "gran": "grandmother", "nan": "grandmother", "nana": "grandmother", "grandma": "grandmother",
    "grandpa": "grandfather",
}  # fmt: skip
"""The word that keywords and edges use for several of one meaning."""

OF_SOMETHING = _WORDS["of_something"]
"""Parts in an organisation: ``the owner`` alone does not say of what."""

KEPT_WITH = _WORDS["kept_with"]
"""Words that say more with the word before them: ``fishing buddy``, ``former colleague``."""

NO_QUALIFIER = _WORDS["no_qualifier"]
IN_LAWS = {
    "sister husband": "brother-in-law", "brother wife": "sister-in-law", "wife brother": "brother-in-law",
    "husband brother": "brother-in-law", "wife sister": "sister-in-law", "husband sister": "sister-in-law",
    "wife mother": "mother-in-law", "husband mother": "mother-in-law", "wife father": "father-in-law",
    "husband father": "father-in-law", "sister son": "nephew", "brother son": "nephew",
    "sister daughter": "niece", "brother daughter": "niece", "sister spouse": "brother-in-law",
    "brother spouse": "sister-in-law",
}  # fmt: skip


@cache
def relation_words() -> frozenset[str]:
    """Return the words for relations of all languages, in the singular."""
    return frozenset((*english().relations, *_KIN.split(), *_OTHERS.split()))


@cache
def relatives() -> frozenset[str]:
    """Return the words for relatives: ``the mother`` is somebody's, ``the plumber`` is the speaker's."""
    return frozenset((*(word for word, topic in english().relations.items() if topic == "Family"), *_KIN.split()))


def singular(word: str) -> str | None:
    """Return a word for a relation in the singular and in lower case; None if it is none.

    German nouns keep their capital in no keyword: labels are compared without case.
    """
    lower = word.lower()
    for form in (COMMON_FORM.get(lower, lower), lower.removesuffix("s"), lower.removesuffix("es")):
        if form in relation_words() or ANY_PROFESSION.fullmatch(form):
            return COMMON_FORM.get(form, form)
    return None
