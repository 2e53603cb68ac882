"""Finds the person that a sentence without a subject is about: the one in the question or the sentence before it.

``Where do your parents live?`` – ``Still in the house in Siegen.`` is about the parents, not the speaker. English only.
Choosing sentences for an answer belongs in ``candidates``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from resources.offline.lexicon import english, word_lists
from resources.offline.questions import WORD
from resources.offline.retelling import has_verb

_AUXILIARY = r"(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|shall|should|may|might)(?:n['’]t)?"
_ASKED_OF = re.compile(rf"\b{_AUXILIARY}\s+(?!there\b)(?=\w)", re.I)
_WORDS = word_lists("elliptic")
_FIRST_PERSON = _WORDS["first_person"]
_PRONOUNS = frozenset("he she they".split())
_SAYING = _WORDS["saying"]
"""Verbs that report what somebody said, who may have spoken about anybody."""

_DETERMINERS = _WORDS["determiners"]

_SEVERAL = _WORDS["several"]
"""Relatives who have no word for one of them in the lexicon, or another form."""

_REACH = 3
"""Words after a determiner among which a word such as *parents* is."""


def persons_meant(texts: Sequence[str], asked: str) -> Iterator[str]:
    """Yield, for each sentence of a message, the person that it is about without a name; empty if there is none.

    Args:
        texts: The sentences.
        asked: The question that the message replies to; may be empty.
    """
    asks = _ASKED_OF.search(asked)
    person = _person(asked[asks.end() :]) if asks else ""
    for text in texts:
        words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
        if person and _FIRST_PERSON.isdisjoint(words) and not has_verb(words, english().verbs):
            yield person
        else:
            person = "" if _SAYING.intersection(words) else _person(text)
            yield ""


def may_be_anyone(person: str) -> bool:
    """Return whether a person of ``persons_meant`` may have any name: *she* or *sister*, not *parents* or *Dave*."""
    lower = person.lower()
    return lower not in _SEVERAL and lower not in english().first_names


def _person(text: str) -> str:
    """Return the person with whom a text begins: a relative, a name, or a pronoun."""
    words: list[str] = WORD.findall(text)[: _REACH + 1]
    if not words:
        return ""
    first = words[0].lower()
    if first in _PRONOUNS:
        return first
    among = words[1:] if first in _DETERMINERS else words[:1]
    kin = next((word for word in among if _is_kin(word.lower())), "")
    is_named = words[0][0].isupper() and first in english().first_names
    return kin or (words[0] if is_named else "")


def _is_kin(word: str) -> bool:
    return word in _SEVERAL or not english().relations.keys().isdisjoint((word, word.removesuffix("s")))
