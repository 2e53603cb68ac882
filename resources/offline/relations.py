"""Relations that a text states: ``my coworker Dave``, ``Dave's wife Lena``, ``Your sister Ana``.

Each begins at a word for a relation (``kin_words``); the words before and after it say who it is, and whose. Others are
stated by verbs: ``Ana works at Acme``. ``names`` decides who is a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

from neurigraph_pipelines.model import Message, Role
from resources.offline.kin_words import (
    IN_LAWS,
    KEPT_WITH,
    NO_QUALIFIER,
    OF_SOMETHING,
    TITLES,
    relation_words,
    relatives,
    singular,
)
from resources.offline.lexicon import english, forms
from resources.offline.prose import Prose, Sentence
from resources.offline.written_names import NAME, without_title

_FORMS = forms("relations", name=NAME)

MAX_RELATIONS = 20
REACH = 80
"""Characters before and after a relation's word that say who it is and whose."""


_GENITIVE = ("'s", "’s")
_ONE_NAME = re.compile(NAME)


_MARRIED = "married to"
_TIES = forms("ties")
_VERBS = [(name, verb.pattern) for name, verb in _TIES.table("verbs")]
_HAS_VERB = re.compile(rf"\b(?=\w)(?:{'|'.join(verb for _, verb in _VERBS)})")
_TIE = re.compile(
    rf"(?P<who>{NAME}|\b(?:I|ich|yo)\b),?\s?{_TIES.adverbs.pattern}\b(?:"
    + "|".join(f"(?P<v{number}>{verb})" for number, (_, verb) in enumerate(_VERBS))
    + rf")\s(?:(?:the|(?:my|our)(?:\s[a-z-]{{3,20}})?|der|dem|den|la|el|le)\s)?(?P<what>{NAME})"
)


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """``person`` is the ``label`` of ``whose``; None means the conversation's owner.

    Attributes:
        by_verb: Whether the label is a verb instead, such as ``works at``, whose subject is ``whose``.
    """

    label: str
    person: str
    whose: str | None = None
    by_verb: bool = False

    def __str__(self) -> str:
        """Format as a keyword: ``sister: Ana``, ``Dave's wife: Lena``, ``Dave works at: Acme``."""
        if self.by_verb and self.whose:
            return f"{self.whose} {self.label}: {self.person}"
        return f"{self.whose}'s {self.label}: {self.person}" if self.whose else f"{self.label}: {self.person}"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a word for a relation stands: its sentence, the words before and after it, and its spelling."""

    sentence: Sentence
    before: str
    after: str
    written: str


@dataclass(frozen=True, slots=True)
class _Open:
    """A relation without a name, such as ``my brother``, whose name may follow."""

    label: str
    whose: str | None
    message: int
    is_asked: bool


def stated_relations(prose: Prose, speakers: Mapping[str, str], owner: str | None) -> tuple[StatedRelation, ...]:
    """Return the relations between named people that ``prose`` states, most frequent first.

    Args:
        prose: The segment.
        speakers: Names of people by author line; with several speakers, "my" refers to the speaker.
        owner: Author line of the account's user, whose relations have no ``whose``.
    """
    reading = _Reading(prose, speakers, owner)
    for sentence in prose.sentences:
        reading.read(sentence)
    found = reading.found
    for first, second in product(list(found)[:MAX_RELATIONS], repeat=2):
        through = IN_LAWS.get(f"{first.label} {second.label}")
        if through and second.whose == first.person:
            found[StatedRelation(through, second.person, first.whose)] += 1
    return tuple(relation for relation, _ in found.most_common(MAX_RELATIONS))


class _Reading:
    """Reads sentences in order, and remembers who was named last and which relation still lacks a name."""

    def __init__(self, prose: Prose, speakers: Mapping[str, str], owner: str | None) -> None:
        self.found: Counter[StatedRelation] = Counter()
        self._prose = prose
        self._speakers = speakers
        self._owner = owner
        self._people = set(speakers.values())
        self._named: set[str] = set()
        self._doer: str | None = None
        self._before: tuple[int, str] | None = None
        self._open: _Open | None = None

    def read(self, sentence: Sentence) -> None:
        text = _FORMS.in_law.sub(r"\g<who>-in-law", _with_capitals(sentence))
        self._close(sentence, text)
        if "-in-law" in text or any(_is_relation(word.lower) for word in sentence.words):
            for match in _FORMS.word.finditer(text):
                if label := singular(match.group()):
                    before, after = text[max(0, match.start() - REACH) : match.start()], text[match.end() :][:REACH]
                    self._read_word(label, _Place(sentence, before, after, match.group()))
        for who, verb, what in _ties_in(text):
            self._read_tie(sentence, who, verb, what)
        for match in _ONE_NAME.finditer(text):
            if name := person_in(match.group()):
                self._named.add(name)
                self._before = (sentence.message, name)
                if name.split()[0].lower() in english().first_names or _FORMS.acts.match(text, match.end()):
                    self._doer = name

    def _read_word(self, label: str, place: _Place) -> None:
        before = place.before
        via = _FORMS.via.search(before)
        if via and (through := singular(via["via"])):
            before = before[: via.start()]
            label = IN_LAWS.get(f"{through} {label}", f"{through}'s {label}")
        possessor = _FORMS.possessor.search(before)
        if possessor is None:
            self._read_title(label, place)
            return
        mine = _FORMS.of_mine.match(place.after)
        holder = mine or _FORMS.holder_after.match(place.after)
        is_anyones = bool(possessor["the"] or possessor["a"]) and mine is None
        of = _bare(holder["holder"]) if is_anyones and holder and person_in(holder["holder"]) else None
        if is_anyones and of is None and label in relatives() | OF_SOMETHING:
            return
        whose, is_known = (of, True) if of else self._whose(possessor, place, is_mine=mine is not None)
        if not is_known:
            return
        after = place.after[holder.end() :] if holder else place.after
        names = self._names(before[: possessor.start()], after, possessor, is_anyones=is_anyones)
        for name in names:
            if name != whose:
                self.found[StatedRelation(_qualified(label, possessor["middle"]), name, whose)] += 1
        if not names and not possessor["theirs"] and not place.after.startswith(_GENITIVE):
            self._open = _Open(label, whose, place.sentence.message, place.sentence.text.endswith("?"))

    def _read_tie(self, sentence: Sentence, who: str | None, verb: str, what: str) -> None:
        subject, other = person_in(who) if who else None, person_in(what)
        if who is None and self._prose.message(sentence).role is not Role.ASSISTANT:
            subject = self._me(sentence)
        elif subject is None:
            return
        if other and other != subject:
            couple = StatedRelation("spouse", subject or other, other if subject else None)
            self.found[couple if verb == _MARRIED else StatedRelation(verb, other, subject, by_verb=True)] += 1

    def _whose(self, possessor: re.Match[str], place: _Place, *, is_mine: bool) -> tuple[str | None, bool]:
        """Return whose relation it is, None for the owner, and whether that is known."""
        message = self._prose.message(place.sentence)
        if possessor["mine"] or is_mine:
            return self._me(place.sentence), message.role is not Role.ASSISTANT
        if possessor["yours"]:
            return self._you(place)
        if possessor["theirs"]:
            return self._doer, self._doer is not None
        if possessor["the"] or possessor["a"]:
            return (None, True) if message.role is Role.ASSISTANT else (self._me(place.sentence), True)
        name = person_in(possessor["holder"])
        return name, name is not None

    def _me(self, sentence: Sentence) -> str | None:
        return speaker_of(self._prose.message(sentence), self._speakers, self._owner)

    def _you(self, place: _Place) -> tuple[str | None, bool]:
        message = self._prose.message(place.sentence)
        if message.role is Role.ASSISTANT:
            return None, True
        others = [author for author in self._speakers if author != message.author]
        if len(others) != 1 or len(self._speakers) != 2:
            return None, False
        return None if others[0] == self._owner else self._speakers[others[0]], True

    def _names(self, before: str, after: str, possessor: re.Match[str], *, is_anyones: bool) -> list[str]:
        """Return the names beside a relation's word, else one that follows later, else who was meant before."""
        is_new = is_anyones and possessor["a"]
        for match in (_FORMS.name_after.match(after), None if is_new else _FORMS.name_before.search(before)):
            if match and (names := _people(match["names"])):
                return names
        later = None if is_anyones else _FORMS.name_later.match(after)
        if later:
            return _people(later["names"] or later["resumed"])
        if later := _FORMS.her_name.search(after):
            return _people(later["names"])
        if self._before and _FORMS.pronoun_before.search(before):
            return [self._before[1]]
        return []

    def _read_title(self, label: str, place: _Place) -> None:
        """Read ``auntie Cheryl``. Who says this to somebody of the family names a relative of both."""
        follows = _FORMS.titled.match(place.after)
        name = person_in(follows["names"]) if follows and place.written.lower() in TITLES else None
        if name:
            whose = self._me(place.sentence) if len(self._people) > 2 else None
            self.found[StatedRelation(label, name, whose)] += 1

    def _close(self, sentence: Sentence, text: str) -> None:
        """Read the name of a relation that the sentence before left open, if nobody was called so before."""
        left, self._open = self._open, None
        if left is None or sentence.message > left.message + left.is_asked:
            return
        answers = left.is_asked and sentence.message > left.message
        match = (_FORMS.answer if answers else _FORMS.subject).match(text)
        name = person_in(match["names"]) if match else None
        if name and name not in self._named | self._people and name != left.whose:
            self.found[StatedRelation(left.label, name, left.whose)] += 1


def _ties_in(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield subject, verb and object, as the text writes them; the subject is None for the speaker."""
    for match in _TIE.finditer(text) if _HAS_VERB.search(text) else ():
        verb = next(name for number, (name, _) in enumerate(_VERBS) if match[f"v{number}"])
        yield None if match["who"].lower() in ("i", "ich", "yo") else match["who"], verb, match["what"]


def speaker_of(message: Message, speakers: Mapping[str, str], owner: str | None) -> str | None:
    """Return the name of who says "I" in a message; None for the account's user, and where only one person speaks."""
    author = message.author
    names = iter(speakers.values())
    first = next(names, None)
    several = any(name != first for name in names)
    return speakers.get(author, author) if author and author != owner and several else None


def person_in(written: str) -> str | None:
    """Return a name without its title; None if its first word is an ordinary one."""
    name = without_title(_bare(written))[1]
    words = name.split()
    first = words[0].lower()
    if first in _ordinary() or (name.isupper() and len(name) > 1):
        return None
    if len(words) == 1 and first.endswith("ly") and first not in english().first_names:
        return None
    while words[-1].lower() in english().junk:
        words.pop()
    return " ".join(words)[:40]


@cache
def _ordinary() -> frozenset[str]:
    lexicon = english()
    return lexicon.junk | lexicon.stop | lexicon.common | lexicon.filler | lexicon.roles | relation_words()


def _with_capitals(sentence: Sentence) -> str:
    """Return the text with capitals for given names in lower case, as chats have them."""
    small = [word.text for word in sentence.words if word.text in _small_names()]
    return (
        re.sub(rf"\b(?:{'|'.join(small)})\b", lambda match: match.group().title(), sentence.text)
        if small
        else sentence.text
    )


def _people(names: str) -> list[str]:
    return [name for match in _ONE_NAME.finditer(names) if (name := person_in(match.group()))]


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name)


@cache
def _small_names() -> frozenset[str]:
    """Return the given names that are no words when they are written with a small letter."""
    return english().first_names - english().common


@lru_cache(maxsize=20_000)
def _is_relation(word: str) -> bool:
    """Whether a word in lower case is the word for a relation, in singular, plural or genitive."""
    bare = word.removesuffix("'s")
    return bare in relation_words() or bare.removesuffix("s") in relation_words()


def _qualified(label: str, middle: str) -> str:
    qualifiers = [word for word in middle.split() if word not in NO_QUALIFIER]
    return f"{qualifiers[-1]} {label}" if qualifiers and label in KEPT_WITH else label
