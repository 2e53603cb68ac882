"""Whether somebody who knows only the title of a conversation understands a unit. English only.

``standing`` and ``references`` find sentences that belong together; this module reads them strictly, as somebody
would who was not there: a pronoun needs a person or thing that it can mean, "the price" of what, a figure what it
counts.
"""

from __future__ import annotations

import re
from collections import Counter

from resources.offline.lexicon import english, forms, word_lists
from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.references import CLAUSE, EMPTY_IT, NEUTRAL, PLURAL, THIS_TIME, WORD, uninflected
from resources.offline.retelling import IRREGULAR_PAST
from resources.offline.units import Unit

_FORMS = forms("anchors")

_WORDS = word_lists("anchors")
_FEMALE = _WORDS["female"]
_MALE = _WORDS["male"]
_SHE, _HE = frozenset("she her hers herself".split()), frozenset("he him his himself".split())
_HE_OR_SHE = _SHE | _HE
_DETERMINERS = _WORDS["determiners"]

_REACH = 4
"""Words after an article among which its noun is."""

_PRONOUN = re.compile(rf"\b(?:{'|'.join(_HE_OR_SHE | PLURAL | NEUTRAL)})\b", re.I)
_COUNTS_NOTHING = _WORDS["counts_nothing"]
_SMALL = 3
"""Digits of a number that needs a counted noun; greater ones are money or years."""

_BEFORE = 24
"""Characters before a figure that are read."""


class Anchors:
    """Reads the units of one conversation."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        lexicon = english()
        self._persons = {word for one in names.persons for word in one.name.split()}
        self._persons |= {word for name in names.speakers.values() for word in name.split()}
        self._people = frozenset(lexicon.relations) | _FEMALE | _MALE
        self._no_nouns = lexicon.stop | lexicon.filler | lexicon.verbs
        counting = lexicon.verbs | IRREGULAR_PAST | {f"{verb}s" for verb in lexicon.verbs}
        self._counting = counting | {"at", "for", "is", "was", "to", "only", "about"}
        self._genders = self._read_genders(prose)

    def stand_alone(self, unit: Unit) -> bool:
        """Return whether nothing is missing; True in other languages than English."""
        if self._prose.sentences[unit.sentences[0]].language != "en":
            return True
        asked = unit.said_before
        text = THIS_TIME.sub("then", EMPTY_IT.sub("", "; ".join(filter(None, (asked, *unit.texts)))))
        if _FORMS.ellipsis.search(text) or _FORMS.of_what.search(text) or _FORMS.points.search(text):
            return False
        if not asked and (_FORMS.no_verb.search(text) or self._has_bare_figure(text)):
            return False
        return self._has_meant(text)

    def _read_genders(self, prose: Prose) -> dict[str, int]:
        """Return 1 for names that "she" follows within a sentence, -1 for those that "he" follows."""
        votes: Counter[str] = Counter()
        for sentence in prose.sentences:
            last = ""
            for word in sentence.words:
                if word.text in self._persons:
                    last = word.text
                elif last and word.lower in _HE_OR_SHE:
                    votes[last] += 1 if word.lower in _SHE else -1
                    last = ""
        return {name: 1 if count > 0 else -1 for name, count in votes.items() if count}

    def _has_meant(self, text: str) -> bool:
        """Return whether every pronoun has an earlier person or thing as its possible referent."""
        last = max((match.end() for match in _PRONOUN.finditer(text)), default=0)
        seen = _Seen()
        before, end, reach = "", 0, 0
        for match in WORD.finditer(text, 0, last):
            word, lower = match.group(), uninflected(match.group())
            if before and (lower in CLAUSE or text[end] in ",;:"):
                seen.before_clause = len(seen.people)
            if not seen.explains(lower, is_apposed=before in self._persons and text[end] == ","):
                return False
            if word in self._persons or lower in self._people or lower.rstrip("s") in self._people:
                # "my daughter Achieng" and "Inês Couto" are one person each.
                again = word in self._persons and (before in self._persons or uninflected(before) in self._people)
                known = seen.people.pop() if again and seen.people else 0
                seen.people.append(self._gender(word, lower) or known)
                seen.plural |= lower.endswith("s") and word[0].islower()
            elif word[0].isupper() and before and lower not in self._no_nouns:
                seen.thing = seen.plural = True  # such as a company
                seen.people.append(0)
            elif lower in _DETERMINERS or word.endswith(("'s", "’s")):
                reach = _REACH
            elif lower in self._no_nouns:
                reach = 0
            elif len(lower) > 2:
                is_plural = lower.endswith("s") and not lower.endswith("ss")
                seen.plural |= is_plural and (reach > 0 or len(lower) > 3)
                seen.thing |= reach > 0 and not is_plural
            reach = max(0, reach - 1)
            before, end = word, min(match.end(), len(text) - 1)
        return True

    def _gender(self, word: str, lower: str) -> int:
        return self._genders.get(word, 0) or (lower in _FEMALE) - (lower in _MALE)

    def _has_bare_figure(self, text: str) -> bool:
        """Whether a small number has no counted noun: "we offered 50"."""
        for match in _FORMS.figure.finditer(text):
            digits = match["digits"].rstrip(".,")
            if match["sign"] or match["unit"] or (match["next"] or "and").lower() not in _COUNTS_NOTHING:
                return False  # the others have the same unit
            before = text[max(0, match.start() - _BEFORE) : match.start()]
            verb = _FORMS.last_word.search(before)
            is_large = "," in digits or ":" in digits or len(digits) > _SMALL
            if not is_large and verb is not None and not _FORMS.day.search(before):
                word = verb[1].lower()
                if word in self._counting or word.endswith("ed"):
                    return True
        return False


class _Seen:
    """Who and what a text has mentioned so far.

    Attributes:
        people: One number for each person: 1 for women, -1 for men, 0 if that is not known.
        before_clause: How many of them were mentioned before the clause.
    """

    def __init__(self) -> None:
        self.people: list[int] = []
        self.before_clause = 0
        self.thing = False
        self.plural = False

    def explains(self, word: str, *, is_apposed: bool) -> bool:
        """Whether ``word`` is no pronoun, or one that can mean something before it.

        Args:
            is_apposed: Whether it follows a name and a comma: "Dr. Whitlock, his allergist" is of somebody else.
        """
        if word in _SHE or word in _HE:
            meant = self.people
            if word in ("him", "her") and len(meant) < 2:
                meant = meant[: self.before_clause]  # the object of a clause is not its subject
            elif is_apposed and word in ("his", "her"):
                meant = meant[:-1]
            return any(one in (0, 1 if word in _SHE else -1) for one in meant)
        if word in PLURAL:
            return self.plural or len(self.people) > 1
        return self.thing or word not in NEUTRAL
