"""Whom a sentence is about, where its beginning says it: "My sister lives …", "Ben's number …", "I am …".

A question about one person is never answered by a sentence about another one. ``elliptic`` finds the person of
sentences without a subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from resources.offline.fitting import names_in
from resources.offline.kin_words import relatives, singular
from resources.offline.questions import WORD, Asked, Words

_OWNED = re.compile(
    r"(?i:^\W*(?:and |but |und |y |et |e |en )?(?:my|our|mein\w?|unser\w?|mi|mis|nuestr[oa]|mon|ma|mes|notre|"
    r"(?:il )?mio|(?:la )?mia|mijn|onze|meu|minha|o meu|a minha))\s+(?P<kin>[\w'’-]+(?: [\w-]+)?)"
)
_NAMED = re.compile(r"^[\s\"'“„«(]*(?P<name>[^\W\d_a-zß-öø-ÿ][\w-]*)(?P<of>['’]s)?")
_SPEAKING = re.compile(r"^\W*(?:(?:i|ich|je|yo|io|ik|eu)\b|j['’])", re.I)
_POSSESSED = re.compile(r"([^\W\d_a-zß-öø-ÿ][\w-]*)['’]s\b")
_OWN = re.compile(r"\b(?:my|mein\w?|mi|mon|ma|mio|mia|mijn|meu|minha)\b")
_MORE_KIN = frozenset(
    "fratello sorella figlio figlia nonno nonna zio zia moglie marito broer zus zoon dochter opa oma vrouw man irmão "
    "irmã filho filha avô avó pai mãe moeder vader".split()
)


def kin_of(text: str) -> frozenset[str]:
    """Return the relatives that a text names, each in its common form."""
    return frozenset(found for word in WORD.findall(text) if (found := _relative(word.removesuffix("'s"))))


@cache
def _relative(word: str) -> str:
    lower = word.lower()
    form = lower if lower in _MORE_KIN else singular(word) or ""
    return form if form in _MORE_KIN or form in relatives() or lower in relatives() else ""


def persons_asked(question: str, asked: Asked, words: Words) -> tuple[frozenset[str], frozenset[str]]:
    """Return the relatives and the lexemes of the names that a question is about."""
    owners = frozenset(lexeme for name in _POSSESSED.findall(question) for lexeme in words.lexemes(name))
    named = frozenset(name for name in asked.names if name in words.first_names)
    return kin_of(question), (owners | asked.subjects | named) & asked.anchors


def speaks_first(text: str) -> bool:
    """Return whether a sentence begins with its speaker."""
    return _SPEAKING.match(text) is not None


class Others:
    """Which sentences are about somebody else than a question.

    Args:
        texts: All evidence: a text that has a relative and a name may say that both are one.
    """

    def __init__(self, question: str, asked: Asked, texts: Sequence[str], words: Words) -> None:
        self._asked, self._words = asked, words
        self._kin, self._names = persons_asked(question, asked, words)
        self._own = asked.is_own or _is_own(question)
        self._texts = [(kin_of(text), frozenset(words.lexemes(text))) for text in texts]

    def are_subject(self, text: str, near: frozenset[str]) -> bool:
        """Return whether a sentence begins with somebody else.

        Args:
            near: The lexemes of the sentence, its speaker and the sentences beside it.
        """
        if owned := _OWNED.match(text):
            kin = kin_of(owned["kin"])
            if kin:
                return self._is_another(kin, frozenset(), near)
        if _SPEAKING.match(text):
            return bool(self._kin) and not self._own and not self._knows(text, near)
        named = _NAMED.match(text)
        if named is None or not (self._kin or self._names):
            return False
        name = frozenset(self._words.lexemes(named["name"]))
        if not name or not (named["of"] or name & names_in(text, self._words) or name & self._words.first_names):
            return False
        return self._is_another(frozenset(), name, near)

    def _knows(self, text: str, near: frozenset[str]) -> bool:
        return bool(self._kin & kin_of(text) or self._names & near or near & self._lexemes_of_kin())

    def _lexemes_of_kin(self) -> frozenset[str]:
        return frozenset(lexeme for kin in self._kin for lexeme in self._words.lexemes(kin))

    def _is_another(self, kin: frozenset[str], name: frozenset[str], near: frozenset[str]) -> bool:
        if not self._kin and not self._names:
            return (self._own or _OWN.search(self._asked.text) is not None) and bool(kin)
        if kin & self._kin or name & self._names or name & self._asked.anchors:
            return False
        if (self._names and self._names & near) or self._lexemes_of_kin() & near:
            return False
        return not any(
            (kin & kins or name & lexemes) and (self._kin & kins or self._names & lexemes)
            for kins, lexemes in self._texts
        )


def _is_own(question: str) -> bool:
    return re.search(r"\b(?:ich|je|yo|io|ik|eu)\b", question, re.I) is not None
