"""Questions about the asker as a whole, such as "Who am I?", in the languages of ``languages``."""

from __future__ import annotations

import re

_ABOUT_ASKER = re.compile(
    r"\W*(?:(?:please )?tell me (?:all|everything|something|what you know|more) (?:you know )?about (?:me|myself)|"
    r"what (?:do|can|did) you (?:know|remember|tell me)(?: about)? (?:me|myself)|"
    r"what (?:is|have you) (?:known|stored) about me|"
    r"who am i|describe me|was weißt du (?:alles )?(?:über|von) mi[cr]h?|wer bin ich|"
    r"erzähl\w* mir (?:alles )?über mich|"
    r"(?:qué|que) sabes (?:de|sobre) mí|(?:quién|quien) soy(?: yo)?|qui suis-je|que sais-tu (?:de|sur) moi|"
    r"(?:che )?cosa sai di me|chi sono(?: io)?|wie ben ik|wat weet (?:je|jij) (?:over|van) mij|quem sou(?: eu)?|"
    r"o que (?:você )?sabes? (?:de|sobre) mim)\W*",
    re.I,
)


def is_about_asker(question: str) -> bool:
    """Return whether a question asks for all there is about the asker."""
    return _ABOUT_ASKER.fullmatch(question) is not None
