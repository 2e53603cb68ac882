"""Whether a sentence tells what its speaker did: then the day of the message answers when they did it.

``I planted the quince tree`` answers ``When did I plant the quince tree?``. A plan, a habit or a denial does not.
"""

from __future__ import annotations

import re

from resources.offline.lexicon import forms
from resources.offline.questions import Words
from resources.offline.retelling import SAME_IN_PAST, is_past

_FORMS = forms("deeds")

_SPEAKS = dict(_FORMS.table("speaks"))


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
    verb = match["verb"]
    is_told = bool(match["has"]) or is_past(verb) or verb in SAME_IN_PAST or verb in ("was", "had", "did", "were")
    return is_told and (not anchors.isdisjoint(words.lexemes(verb)) or verb in ("was", "were"))
