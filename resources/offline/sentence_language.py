"""The language of a short text among others: detectors need more than ``Gestern kam Ana``, its small words do not."""

from __future__ import annotations

import re
from functools import lru_cache

from neurigraph_pipelines.text.languages import language_of
from resources.offline.date_words import LANGUAGES, date_words
from resources.offline.lexicon import lexicon_of

SHORT = 120
"""Characters up to which small words decide."""

_WORD = re.compile(r"[^\W\d_]+")


def language_of_short(text: str, among: str) -> str:
    """Return the language of a text.

    Args:
        among: The language of the text around it, which wins unless more of the words are those of another one.
    """
    found = language_of(text, among) or among
    if found != among or len(text) > SHORT:
        return found
    words = _WORD.findall(text.lower())
    known = {code: sum(_belongs(word, code) for word in words) for code in (among, *LANGUAGES)}
    best = max(known, key=lambda code: known[code])
    return best if sum(count == known[best] for count in known.values()) == 1 else among


@lru_cache(maxsize=20_000)
def _belongs(word: str, code: str) -> bool:
    """Whether a small word, or one for a day, is of a language."""
    if word in lexicon_of(code).stop:
        return True
    return code in LANGUAGES and any(pattern.fullmatch(word) for pattern, _ in date_words(code).near.numbers)
