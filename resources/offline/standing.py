"""What an English sentence says without the others: whether it can begin a unit, go on with one, or says nothing."""

from __future__ import annotations

import re

from resources.offline.lexicon import english, forms
from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.references import WORD, References
from resources.offline.retelling import has_verb, lacks_subject

_FORMS = forms("standing")

MIN_WORDS = 3
"""Fewest words of the first sentence of a unit."""

MAX_HEADING = 5
"""Most words of a fragment that names what the next sentence speaks of."""

_GREETING = "Hey|Hi|Hello|Thanks|Thank you|Sure|Yeah|Yes|No|Wow|Dear|hey|hi"
_NO_SPEECH = frozenset("[<|")
_SUBORDINATING = frozenset("before since because when until if while so although than unless".split())


class Standing:
    """Reads the sentences of one conversation, each once."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._verbs = english().verbs
        speakers = set(names.speakers.values())
        self._persons = {word for name in (*speakers, *(one.name for one in names.persons)) for word in name.split()}
        small = {word.text for one in prose.sentences for word in one.words if word.text[0].islower()}
        self.references = References(self._persons, small)
        called = "|".join(sorted({re.escape(name.split()[0]) for name in speakers}, reverse=True))
        address = rf"^(?:(?:{_GREETING})\s)?(?:{called})[,!]+\s+|,\s(?:{called})(?=[.!,]|$)"
        self._address = re.compile(address) if called else _FORMS.nothing
        self._cleaned: dict[int, str] = {}
        self._empty: dict[int, bool] = {}
        self._standing: dict[int, bool] = {}

    def clean(self, number: int) -> str:
        """Return a sentence without openers, asides and the name of who is addressed."""
        if number not in self._cleaned:
            text = _without_openers(self._prose.sentences[number].text)
            unaddressed = self._address.sub("", text)
            self._cleaned[number] = text if unaddressed == text else _without_openers(unaddressed)
        return self._cleaned[number]

    def says_nothing(self, number: int) -> bool:
        """Return whether a sentence is a question, code, a heading or small talk."""
        if number not in self._empty:
            sentence, text = self._prose.sentences[number], self.clean(number)
            self._empty[number] = (
                is_question(sentence.text)
                or is_no_speech(sentence.text)
                or not _FORMS.letter.search(text)
                or bool(_FORMS.heading.fullmatch(text.rstrip(".:")) or _FORMS.inverted.match(text))
                or not (sentence.content or _FORMS.digit.search(text))
            )
        return self._empty[number]

    def stands(self, number: int) -> bool:
        """Return whether a unit may begin with a sentence: it has a verb and does not go on with another."""
        if number not in self._standing:
            self._standing[number] = self._stands(self.clean(number))
        return self._standing[number]

    def introduces(self, number: int) -> bool:
        """Return whether a fragment names what the next sentence means by a pronoun: ``Second, Vilhena``."""
        text = self.clean(number)
        words = text.split()
        if not 0 < len(words) <= MAX_HEADING or _FORMS.fragment.match(text):
            return False
        is_named = bool(_FORMS.names.search(text)) or words[0].rstrip(",.") in self._persons
        is_needed = not self.references.are_clear(self.clean(number + 1))
        return is_named and is_needed and self.references.begins_alone(text)

    def _stands(self, text: str) -> bool:
        if (
            len(text.split()) < MIN_WORDS
            or _FORMS.fragment.match(text)
            or _FORMS.agrees.match(text)
            or _FORMS.lacks_verb.search(text)
            or (lacks_subject(text) and _FORMS.no_object.match(text))
            or not self.references.begins_alone(text)
        ):
            return False
        words = _words(_FORMS.participle.sub(r"\1 ", _FORMS.may.sub("", text)))
        is_cut = words[0].endswith("s") and words[0][:-1] in self._verbs  # "Sounds like the chain"
        conjunction = next((n for n, word in enumerate(words) if word in _SUBORDINATING), 0)
        return not is_cut and has_verb(words[:conjunction] or words, self._verbs)  # "From afar, since he is ill"


def is_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(" \"')”’").endswith("?")


def is_no_speech(text: str) -> bool:
    """Whether a sentence is code, markup or a caption."""
    return text[0] in _NO_SPEECH or bool(_FORMS.code.search(text))


def _without_openers(text: str) -> str:
    for _ in range(4):
        match = _FORMS.opener.match(text)
        if match is None:
            break
        text = text[match.end() :]
    if match := _FORMS.bare_opener.match(text):
        text = text[match.end() :]
    text = _FORMS.aside.sub("", text).strip(" ,;:-–—")
    return text[:1].upper() + text[1:]


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in WORD.findall(text)]
