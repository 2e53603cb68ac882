"""Whom a sentence is about, where its beginning says it: "My sister lives …", "Ben's number …", "I am …".

A question about one person is never answered by a sentence about another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from resources.offline.fitting import is_date_or_number, names_in
from resources.offline.kin_words import relation_words, relatives, singular
from resources.offline.lexicon import forms, word_lists
from resources.offline.questions import WORD, Asked, Kind, Words

_NAME = r"(?P<name>[^\W\d_a-zß-öø-ÿ][\w-]*?)"

_FORMS = forms("whose", name=_NAME)
_AND_NAME = re.compile(rf"(?: (?:and|und|y|et|e|en) {_NAME}\b)+".replace("?P<name>", "?:"))
_WORDS = word_lists("whose")
_MORE_KIN = _WORDS["more_kin"]


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
    owners = frozenset(lexeme for name in _FORMS.possessed.findall(question) for lexeme in words.lexemes(name))
    named = frozenset(name for name in asked.names if name in words.first_names)
    return kin_of(question), (owners | asked.subjects | named) & asked.anchors


def speaks_first(text: str) -> bool:
    """Return whether a sentence begins with its speaker."""
    return _FORMS.speaking.match(text) is not None


def speaks_of_oneself(text: str) -> bool:
    """Return whether a sentence begins with its speaker, or with a thing of its speaker."""
    return speaks_first(text) or _FORMS.own.match(text.lstrip().lower()) is not None


def tells_of_itself(text: str) -> bool:
    """Return whether a sentence of an assistant is about the assistant."""
    return _FORMS.of_itself.search(text) is not None


def is_of_asker(asked: Asked) -> bool:
    """Return whether a question is about the asker, or a thing of the asker, and not for who did something."""
    return _FORMS.asks_of_asker.search(asked.text) is not None and Kind.WHO not in asked.kinds


class Others:
    """Which sentences are about somebody else than a question.

    Args:
        texts: All texts: one that has a relative and a name may say that both are one person.
        askers: Lexemes of the names of people who may be the asker.
    """

    def __init__(
        self, question: str, asked: Asked, texts: Sequence[str], words: Words, askers: frozenset[str] = frozenset()
    ) -> None:
        self._asked, self._words, self._askers = asked, words, askers
        self._kin, self._names = persons_asked(question, asked, words)
        self._is_only_asker = is_of_asker(asked) and not self._kin and not self._names
        self._own = asked.is_own or _is_own(question)
        self._texts = [(kin_of(text), frozenset(words.lexemes(text))) for text in texts]

    def are_subject(self, text: str, near: frozenset[str]) -> bool:
        """Return whether a sentence begins with somebody else.

        Args:
            near: The lexemes of the sentence, its speaker and the sentences beside it.
        """
        if self._is_only_asker and self._is_of_named(text):
            return True
        if owned := _FORMS.owned.match(text):
            kin = kin_of(owned["kin"])
            if kin or (self._kin and _begins_with_relation(owned["kin"])):
                return self._is_another(kin, frozenset(), near)
        if _FORMS.speaking.match(text):
            return bool(self._kin) and not self._own and not self._knows(text, near)
        named = _FORMS.named.match(text)
        if named is None or not (self._kin or self._names):
            return False
        name = frozenset(self._words.lexemes(named["name"]))
        if not name or not (named["of"] or name & names_in(text, self._words) or name & self._words.first_names):
            return False
        return self._is_another(frozenset(), name, near)

    def _is_of_named(self, text: str) -> bool:
        """Return whether a sentence is about a person with a name, or a thing of theirs, and not about the asker."""
        owned = _FORMS.owned.match(text)
        is_of_asker = _FORMS.of_asker.search(text, owned.end() if owned else 0) is not None
        if self._is_thing_of_named(text, are_sure=is_of_asker) and not self._is_own_thing(text):
            return True
        if self._is_thing_of_relative(text):
            return True
        if is_of_asker:
            return False
        if owned:
            is_owner = "'s" in owned["kin"].replace("’", "'")  # "my neighbour's dog", unlike "my client meeting"
            does = _FORMS.of_person.match(text, owned.start("kin") + len(owned["kin"].split()[0])) is not None
            is_relation = _begins_with_relation(owned["kin"]) or bool(kin_of(owned["kin"].split()[0]))
            return is_relation and (is_owner or does or not self._is_asked(owned["kin"]))
        if any(self._is_asked(match["thing"]) for match in _FORMS.thing.finditer(text)):
            return False
        article = _FORMS.article.match(text) if self._words.language in ("it", "pt") else None  # "O Nuno tem"
        named = _FORMS.named.match(text[article.end() :] if article else text)
        text = named.string if named else text
        if named is None:
            return False
        together = _AND_NAME.match(text, named.end())
        end = together.end() if together else named.end()
        return _FORMS.of_person.match(text, end) is not None and self._is_name(named["name"])

    def _is_thing_of_named(self, text: str, *, are_sure: bool) -> bool:
        """Return whether a person with a name has the thing asked about: with a given name if that is to be sure."""
        patterns = (
            (_FORMS.has_thing, _FORMS.thing_of)
            if self._words.has_names
            else (_FORMS.has_thing, _FORMS.thing_of, _FORMS.has_thing_in_german)
        )
        found = (match for pattern in patterns for match in pattern.finditer(text))
        return any(
            self._is_asked(match["thing"])
            and self._is_name(match["name"])
            and not (are_sure and self._words.first_names.isdisjoint(self._words.lexemes(match["name"])))
            for match in found
        )

    def _is_thing_of_relative(self, text: str) -> bool:
        """Return whether a relative of the asker has the thing asked about: "the rent for my sister's flat"."""
        for match in _FORMS.relative.finditer(text):
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            if kin_of(match["kin"]) and self._is_asked(f"{match['thing'] or ''} {match['its'] or ''}"):
                return _FORMS.of_asker.search(rest) is None
        return False

    def _is_own_thing(self, text: str) -> bool:
        """Return whether the asker has the thing asked about, too: "Paul's and my wedding"."""
        return any(self._is_asked(match["thing"]) for match in _FORMS.thing_of_asker.finditer(text))

    def _is_asked(self, words: str) -> bool:
        return not self._asked.anchors.isdisjoint(self._words.lexemes(words))

    def _is_name(self, word: str) -> bool:
        lexemes = frozenset(self._words.lexemes(word))
        is_other = bool(lexemes) and lexemes.isdisjoint(self._asked.anchors | self._askers)
        return is_other and word.lower() not in self._words.ordinary and not is_date_or_number(word)

    def _knows(self, text: str, near: frozenset[str]) -> bool:
        return bool(self._kin & kin_of(text) or self._names & near or near & self._lexemes_of_kin())

    def _lexemes_of_kin(self) -> frozenset[str]:
        return frozenset(lexeme for kin in self._kin for lexeme in self._words.lexemes(kin))

    def _is_another(self, kin: frozenset[str], name: frozenset[str], near: frozenset[str]) -> bool:
        if not self._kin and not self._names:
            return (self._own or _FORMS.own.search(self._asked.text) is not None) and bool(kin)
        if kin & self._kin or name & self._names or name & self._asked.anchors:
            return False
        own = frozenset(lexeme for word in kin for lexeme in self._words.lexemes(word))
        if (self._names and self._names & near) or (self._lexemes_of_kin() - own) & near:  # hermano, hermana
            return False
        return not any(
            (kin & kins or name & lexemes) and (self._kin & kins or self._names & lexemes)
            for kins, lexemes in self._texts
        )


def _begins_with_relation(words: str) -> bool:
    first = WORD.findall(words.lower().replace("’", "'"))[0].removesuffix("'s")
    return not relation_words().isdisjoint((first, first.removesuffix("s")))


def _is_own(question: str) -> bool:
    return re.search(r"\b(?:ich|je|yo|io|ik|eu)\b", question, re.I) is not None
