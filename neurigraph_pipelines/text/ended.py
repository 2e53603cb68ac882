"""Things that a statement says no longer hold: "switched from X to Y", "no longer X", "Y instead of X". English only.

Every expression is linear. Which statements are compared is decided in ``knowledge``; what follows, by the model.
"""

from __future__ import annotations

import re
from functools import lru_cache

from neurigraph_pipelines.text.lexemes import lexer_of

_PHRASE = r"(?P<what>[^.;,!?\"]{2,80}?)"
_END = (
    r"(?=[.;,!?\"]|$|\s(?:because|since|so|and|but|anymore|any\smore|(?:in|on)\s(?=[A-Z0-9])|"
    r"(?:for|to|with|by|i|we|they|she|he)\s))"
)
_FORMS = [
    re.compile(form, re.I)
    for form in (
        rf"\b(?:switched|switch|moved|changed|migrated|went)\s(?:over\s)?from\s{_PHRASE}\sto\s",
        rf"\b(?:instead\sof|rather\sthan)\s{_PHRASE}{_END}",
        rf"\bno\slonger\s{_PHRASE}{_END}",
        rf"(?:\bnot|n['’]t)\s{_PHRASE}\sany\s?more\b",
        rf"\b(?:replaced|replaces|swapped)\s{_PHRASE}\s(?:with|by|for)\s",
        rf"\b(?:stopped|quit|gave\sup|dropped|abandoned|cancelled|sold)\s{_PHRASE}{_END}",
        rf"\b(?:has|have)\sleft\s{_PHRASE}{_END}",
    )
]
_GENERAL = re.compile(r"\b(?:idea|plan|choice|job|any\s?more|the\suser)\b", re.I)
_LEXER = lexer_of("english")


@lru_cache(maxsize=20_000)
def ended_by(statement: str) -> tuple[frozenset[str], ...]:
    """Return the words of each thing that a statement says no longer holds."""
    found = []
    for form in _FORMS:
        for match in form.finditer(statement):
            phrase = _GENERAL.sub(" ", match["what"])
            words = frozenset(_LEXER.lexemes(phrase))
            if words:
                found.append(words)
    return tuple(found)


def ends(later: str, earlier: str, thing: str = "") -> bool:
    """Return whether a later statement says that an earlier one no longer holds.

    One word is not enough: the statements share another word, too, or the word is in the object of the earlier one.

    Args:
        thing: The object of the earlier one.
    """
    before, after = _words(earlier), _words(later)
    return any(
        ended <= before
        and (len(ended) > 1 or (before & after) - ended or ended <= _words(thing))
        and not _says_so_itself(earlier, ended)
        for ended in ended_by(later)
    )


def _says_so_itself(earlier: str, ended: frozenset[str]) -> bool:
    return any(ended <= one or one <= ended for one in ended_by(earlier))


@lru_cache(maxsize=20_000)
def _words(statement: str) -> frozenset[str]:
    return frozenset(_LEXER.lexemes(statement)) - {"user"}
