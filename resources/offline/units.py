"""The smallest parts of a conversation that can be understood alone: a summary chooses among them.

A unit is one sentence, a sentence together with those that it refers to or that go on with it, or the beginning of a
message with the question that it answers. Sentences that stay unclear belong to no unit. The rules for English are
conservative; in other languages every sentence that does not begin with a pronoun, a conjunction or a figure is a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resources.offline.lexicon import forms, word_lists
from resources.offline.names import Names
from resources.offline.prose import Prose, Sentence
from resources.offline.references import WORD
from resources.offline.standing import Standing, is_no_speech, is_question

_FORMS = forms("units")

MAX_UNIT = 45
"""Most words of a unit of several sentences."""

MAX_BEFORE = 2
"""Most sentences before another that are taken along because it refers to them."""

MAX_AFTER = 3
"""Most sentences after another that are taken along because they go on with it."""

MAX_GAP = 3
"""Sentences from one unit to the next of a message, at most, if one sentence of the summary tells both."""

MAX_QUESTION = 16
"""Most words of a question that is quoted with its answer."""

_WORDS = word_lists("units")
_LEANING_ELSEWHERE = _WORDS["leaning_elsewhere"]
"""First words of sentences in German, Spanish and French that go on with another; articles are left out."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part that can be understood alone.

    Attributes:
        sentences: Numbers of its sentences, in order, all of one message.
        texts: Their texts, without openers and asides.
        before: Number of the question that they answer, in the message before.
        said_before: Its text.
    """

    sentences: tuple[int, ...]
    texts: tuple[str, ...]
    before: int | None = None
    said_before: str = ""

    @property
    def length(self) -> int:
        """Number of words."""
        return sum(len(text.split()) for text in (self.said_before, *self.texts))

    def goes_on_with(self, other: Unit) -> bool:
        """Return whether another unit of the message fits into one sentence with this."""
        gap = max(other.sentences[0] - self.sentences[-1], self.sentences[0] - other.sentences[-1])
        return 0 < gap <= MAX_GAP and self.length + other.length <= MAX_UNIT

    def with_(self, other: Unit) -> Unit:
        """Return this and another unit of the same message as one."""
        first, second = sorted((self, other), key=lambda one: one.sentences)
        return Unit(
            (*first.sentences, *second.sentences), (*first.texts, *second.texts), first.before, first.said_before
        )


def units_of(prose: Prose, names: Names, most: int | None = None) -> list[Unit]:
    """Return the units, by their first sentences.

    Args:
        prose: The conversation.
        names: Its names; "he" and "she" may mean those of people.
        most: Most sentences of a unit that the caller needs. English units that are longer, or that answer a question,
            are then left out, which takes half the time. None returns all.
    """
    finder = _Finder(prose, names, most)
    units: list[Unit] = []
    before: list[int] = []
    first = 0
    for sentences in prose.by_message.values():
        numbers = list(range(first, first + len(sentences)))
        first += len(sentences)
        is_english = sentences[0].language == "en"
        units += finder.units(numbers, before) if is_english else _units_elsewhere(prose, numbers, before)
        before = numbers
    return units


class _Finder:
    """Finds the units of English text."""

    def __init__(self, prose: Prose, names: Names, most: int | None) -> None:
        self._prose = prose
        self._most = most or 1 + MAX_BEFORE + MAX_AFTER
        self._with_replies = most is None
        self._standing = Standing(prose, names)
        self._references = self._standing.references

    def units(self, numbers: Sequence[int], before: Sequence[int]) -> list[Unit]:
        """Return the units of a message.

        Args:
            numbers: Its sentences.
            before: The sentences of the message before.
        """
        found: list[Unit] = []
        for place in range(len(numbers)):
            reply = self._reply(numbers, before) if self._with_replies and not place else None
            for unit in (self._joined(numbers, place), reply):
                if unit is not None:
                    end = unit.sentences[-1] - numbers[0] + 1
                    found += self._extended(unit, numbers[end : end + MAX_AFTER])
        return found

    def _joined(self, numbers: Sequence[int], place: int) -> Unit | None:
        """Return the sentence with the earlier sentences that it refers to; None if it stays unclear."""
        texts: list[str] = []
        for start in range(place, max(-1, place - min(1 + MAX_BEFORE, self._most)), -1):
            number = numbers[start]
            if self._standing.says_nothing(number):
                return None
            texts.insert(0, self._standing.clean(number))
            if len(texts) > 1 and sum(len(one.split()) for one in texts) > MAX_UNIT:
                return None
            if not self._standing.stands(number) and not (start < place and self._standing.introduces(number)):
                continue
            if self._references.are_clear("; ".join(texts)):
                return Unit(tuple(numbers[start : place + 1]), tuple(texts))
        return None

    def _reply(self, numbers: Sequence[int], before: Sequence[int]) -> Unit | None:
        """Return the first sentence of a message with the question that it answers."""
        # Thanks before an answer do not answer.
        place = int(len(numbers) > 1 and bool(_FORMS.only_thanks.fullmatch(self._prose.sentences[numbers[0]].text)))
        first = self._prose.sentences[numbers[place]].text
        if is_question(first) or is_no_speech(first) or len(first.split()) > MAX_UNIT:
            return None
        for number in before[:-3:-1]:
            question = self._standing.clean(number)
            if is_question(question):
                is_short = bool(self._prose.sentences[number].content) and 1 < len(question.split()) <= MAX_QUESTION
                is_clear = is_short and self._references.are_clear(question, asked=True)
                is_clear = is_clear and self._references.are_clear(f"{question}; {first}", asked=True)
                return Unit((numbers[place],), (first.strip(),), number, question) if is_clear else None
        return None

    def _extended(self, unit: Unit, following: Sequence[int]) -> list[Unit]:
        """Return a unit, and longer units that add the sentences after it."""
        found = [unit]
        for number in following:
            if len(unit.sentences) >= self._most or is_question(self._prose.sentences[number].text):
                break
            if self._standing.says_nothing(number):
                continue
            text = self._standing.clean(number)
            longer = Unit((*unit.sentences, number), (*unit.texts, text), unit.before, unit.said_before)
            is_clear = unit.before is not None or self._references.are_clear("; ".join(longer.texts))
            if longer.length > MAX_UNIT or not is_clear:
                break
            found.append(unit := longer)
        return found


def _units_elsewhere(prose: Prose, numbers: Sequence[int], before: Sequence[int]) -> list[Unit]:
    """Return the units of a message in another language: independent sentences or answers, with their continuations."""
    found: list[Unit] = []
    asked = next((n for n in before[:-3:-1] if is_question(prose.sentences[n].text)), None)
    is_short = asked is not None and 3 <= len(prose.sentences[asked].words) <= MAX_QUESTION
    for place, number in enumerate(numbers):
        question = asked if place == 0 and is_short else None
        if question is None and _leans_elsewhere(prose.sentences[number]):
            continue
        texts: list[str] = []
        for later in numbers[place : place + 1 + MAX_AFTER]:
            text = prose.sentences[later].text
            texts.append(text)
            is_long = len(texts) > 1 and len(" ".join(texts).split()) > MAX_UNIT
            if is_long or is_question(text) or is_no_speech(text):
                break
            part = tuple(numbers[place : place + len(texts)])
            found.append(Unit(part, tuple(texts), question, "" if question is None else prose.sentences[question].text))
            if question is not None and not _leans_elsewhere(prose.sentences[number]):
                found.append(Unit(part, tuple(texts)))
    return found


def _leans_elsewhere(sentence: Sentence) -> bool:
    """Whether a sentence of another language begins with a pronoun, a figure or a conjunction, or is a fragment."""
    text = sentence.text
    first = WORD.search(text.lower())
    leaning = first is None or first.group() in _LEANING_ELSEWHERE
    return leaning or bool(_FORMS.figure.match(text)) or text[:1].islower() or len(sentence.words) < 4
