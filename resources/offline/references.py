"""Whether what a sentence refers to stands in it: ``he``, ``it`` and ``that`` after something that they may mean.

English only. The rules look for what may be meant and do not decide what is: a sentence that passes can be understood,
one that fails needs the sentences before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from resources.offline.lexicon import english, forms, word_lists
from resources.offline.retelling import IRREGULAR_PAST

_FORMS = forms("references")

WORD = _FORMS.word

_WORDS = word_lists("references")
LEANING = _WORDS["leaning"]
"""First words of sentences that go on with another."""

_FAR = 8
"""Words after which "that" and "there" refer to the sentence itself."""

_NEXT_WORD = 20
"""Characters after the last pronoun that are read."""

_PERSONAL = frozenset("he she him her his hers himself herself".split())
_OBJECTS = frozenset("him her".split())
PLURAL = frozenset("they them their theirs themselves".split())
NEUTRAL = frozenset("it its itself".split())
_POINTING = frozenset("this that these those".split())
_PRONOUN = re.compile(rf"\b(?:{'|'.join(_PERSONAL | PLURAL | NEUTRAL | _POINTING)})\b", re.I)
_REFERRING = _PERSONAL | PLURAL | NEUTRAL
CLAUSE = _WORDS["clause"]
EMPTY_IT = _FORMS.empty_it
THIS_TIME = _FORMS.this_time
_PERSON_WORDS = _WORDS["person_words"]
_BEFORE_THINGS = _WORDS["before_things"]
_VERBS_AFTER_THAT = _WORDS["verbs_after_that"]


class References:
    """Checks sentences of one conversation."""

    def __init__(self, persons: Collection[str], written_small: Collection[str]) -> None:
        """Remember who may be meant.

        Args:
            persons: The words of people's names.
            written_small: Words that the conversation writes with a small letter: no names, even at the beginning of a
                sentence.
        """
        self._written_small = frozenset(written_small)
        lexicon = english()
        self._persons = frozenset(word.lower() for word in persons)
        self._people = _PERSON_WORDS | frozenset(lexicon.relations)
        self._before_names = self._people | self._persons
        self._ordinary = self._people | lexicon.stop | lexicon.filler | lexicon.common | lexicon.verbs | lexicon.junk
        self._no_things = (
            lexicon.stop | lexicon.filler | lexicon.verbs | IRREGULAR_PAST | {f"{verb}s" for verb in lexicon.verbs}
        )
        self._known: dict[str, _Word] = {}

    def begins_alone(self, text: str) -> bool:
        """Whether a sentence does not begin with a word that refers to another."""
        first = WORD.search(text)
        if first is None or (_FORMS.compares.match(text) and not _FORMS.that_time.match(text)):
            return False
        # "The block is cracked" tells nothing without what was said before.
        if _FORMS.known_thing.match(text) and not _FORMS.detail.search(text):
            return False
        return uninflected(first.group()) not in LEANING or bool(THIS_TIME.match(text))

    def are_clear(self, text: str, *, asked: bool = False) -> bool:
        """Return whether every pronoun of ``text`` has an earlier possible referent.

        Args:
            text: One or several sentences.
            asked: Whether it is a question, where any noun before a pronoun is enough.
        """
        plain = EMPTY_IT.sub("", text) if "it" in text.lower() else text
        if (match := _FORMS.points_back.search(plain)) and len(plain[: match.start()].split()) < _FAR:
            return False
        if asked and not self.begins_alone(plain):
            return False
        pronouns = [match.end() for match in _PRONOUN.finditer(plain)]
        if not pronouns:
            return True
        spans = [(self._word(span.group()), span.end()) for span in WORD.finditer(plain, 0, pronouns[-1] + _NEXT_WORD)]
        seen = _Seen()
        before, mark = "", "."  # the word before this one, and the character after that
        for place, (word, end) in enumerate(spans):
            if word.opens_clause or mark in ",;:":
                seen.close_clause()
            if (
                word.bare in _POINTING
                and not seen.thing
                and place + 1 < len(spans)
                and spans[place + 1][0].is_predicate
            ):
                return False
            if word.bare in _REFERRING and not seen.explains(word.bare) and not (asked and seen.thing):
                return False
            # A capital at the beginning of a sentence makes no name.
            self._see(seen, word, "" if mark in ".!;" else before)
            before, mark = word.bare, plain[end : end + 1] or " "
        return True

    def _word(self, text: str) -> _Word:
        """Return the kind of a word by itself, read once."""
        if (known := self._known.get(text)) is None:
            known = self._known[text] = self._read(text)
        return known

    def _read(self, text: str) -> _Word:
        bare, has_capital = uninflected(text), text[0].isupper()
        is_person = bare in self._people or bare.rstrip("s") in self._people or (has_capital and bare in self._persons)
        is_thing = len(bare) > 2 and not bare.isdigit() and not bare.endswith("ed") and bare not in self._no_things
        return _Word(
            bare=bare,
            has_capital=has_capital,
            is_person=is_person,
            is_people=bare.endswith("s") and bare not in self._people and text[0].islower(),
            may_open=has_capital and bare not in self._ordinary and bare not in self._written_small,
            is_thing=is_thing,
            opens_clause=bare in CLAUSE,
            is_predicate=bare in _VERBS_AFTER_THAT or bare in IRREGULAR_PAST,
        )

    def _see(self, seen: _Seen, word: _Word, before: str) -> None:
        if word.is_person:
            # "my daughter Achieng" and "Inês Couto" are one person each.
            if not (word.has_capital and before in self._before_names):
                seen.add_person(is_plural=word.is_people)
        elif word.has_capital and word.bare != "i" and (before or word.may_open):
            seen.add_name(is_thing=before in _BEFORE_THINGS)
        elif word.is_thing:
            seen.add_thing(is_plural=word.bare.endswith("s"))


class _Word(NamedTuple):
    """The kind of a word by itself.

    Attributes:
        bare: It in lower case, without what follows an apostrophe.
        is_people: Whether it is a plural of persons.
        may_open: Whether it is a name even as the first word of a sentence.
        is_predicate: Whether "that" before it is the subject of a sentence.
    """

    bare: str
    has_capital: bool
    is_person: bool
    is_people: bool
    may_open: bool
    is_thing: bool
    opens_clause: bool
    is_predicate: bool


class _Seen:
    """The things that a text has mentioned so far.

    Attributes:
        thing: Whether it has mentioned anything but people.
    """

    def __init__(self) -> None:
        self.thing = False
        self._persons = 0
        self._persons_before = 0
        self._plural = False

    def add_person(self, *, is_plural: bool) -> None:
        self._persons += 1
        self._plural |= is_plural or self._persons > 1

    def add_name(self, *, is_thing: bool) -> None:
        self.thing |= is_thing
        self._persons += not is_thing
        self._plural = True  # such as a company

    def add_thing(self, *, is_plural: bool) -> None:
        self.thing = True
        self._plural |= is_plural

    def close_clause(self) -> None:
        self._persons_before = self._persons

    def explains(self, word: str) -> bool:
        """Whether ``word`` is no pronoun, or one that may mean something before it."""
        if word in _PERSONAL:
            # The object of a clause is not its subject.
            return self._persons > 1 or self._persons_before > 0 or (self._persons > 0 and word not in _OBJECTS)
        if word in PLURAL:
            return self._plural
        return self.thing or word not in NEUTRAL


@lru_cache(maxsize=20_000)
def uninflected(word: str) -> str:
    """Return a word in lower case without what follows an apostrophe."""
    return word.lower().replace("’", "'").split("'")[0]
