"""The smallest parts of a conversation that can be understood alone: what a summary chooses from.

A unit is one sentence, a sentence together with those that it refers to or that go on with it, or a short question with
its answer. Sentences that stay unclear belong to no unit. The rules for English are conservative; in other languages
every sentence that does not begin with a pronoun, a conjunction or a figure is a unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose, Sentence
from resources.offline.references import WORD, References
from resources.offline.retelling import has_verb

MAX_UNIT = 45
"""Most words of a unit of several sentences."""

MAX_GAP = 3
"""Sentences from one unit to the next of a message, at most, if one sentence of the summary tells both."""

MIN_WORDS = 3
"""Fewest words of the first sentence of a unit."""

MAX_BEFORE = 2
"""Most sentences before another that are taken along because it refers to them."""

MAX_AFTER = 3
"""Most sentences after another that are taken along because they go on with it."""

MAX_QUESTION = 16
"""Most words of a question that is quoted with its answer."""

MAX_HEADING = 5
"""Most words of a fragment that names what the next sentence speaks of."""

_OPENERS = (
    "ok|okay|yes|yeah|yep|yup|no|nope|nah|well|so|and|but|also|plus|then|anyway|right|oh|ah|hi|hello|hey|haha|lol|ehm|hmm|"
    "good morning|good evening|morning|thanks|thank you|sorry|of course|in fact|honestly|actually|update|noted|kept|"
    "agreed|deal|fine|sure|great|perfect|exactly|true|wow|done|listen|look|see|first|next|lovely|wonderful|problem|"
    "funny thing|good news|bad news|sad news|good point|you are right|you're right|i know|you know|i see|"
    "by the way|to be honest"
)
_OPENER = re.compile(rf"(?:{_OPENERS})(?: (?:again|all|everyone|everybody))?\s*(?:[,!.:;…-]|–|—)+\s+", re.I)
_BARE_OPENER = re.compile(
    r"(?:and|but|so|also|anyway|then|plus|oh|ok|okay|yeah|haha)\s+(?!(?:far|much|many|that|long)\b)", re.I
)
_ASIDE = re.compile(
    r",? (?:by the way|to be honest|thank god|you know|i guess|i mean|haha|lol)(?=[,.!?]|$)|\s*[:;]-?[)(DP](?=\s|$)",
    re.I,
)
_NOTHING = re.compile(r"(?!)")
_GREETING = "Hey|Hi|Hello|Thanks|Thank you|Sure|Yeah|Yes|No|Wow|Dear|hey|hi"
_ONLY_THANKS = re.compile(r"(?:thanks|thank you|cheers|hey|hi)\b(?:\W+\w+){0,3}\W*", re.I)
_FRAGMENT = re.compile(
    r"(?:about|around|only|over|almost|nearly|maybe|not|still|never|at|the) [^\w\s]?\d[^,]*,|(?:yes|no)\b", re.I
)
_CODE = re.compile(r"[{}<>\\|=][^{}<>\\|=()]*[{}<>\\|=()]|;$|\w=|\s=\s|`|\w\(\w*\)|^\s*[-#/*]{2,}|https?://")
_NO_SPEECH = frozenset("[<|")
_FIGURE = re.compile(r"[^\w\s]*\d")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SUBORDINATING = frozenset("before since because when until if while so although than unless".split())
_HEADING = re.compile(r"(?:what|where|how|why|who|when|which)(?: [\w'’]+){1,6}", re.I)
_INVERTED = re.compile(
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might) "
    r"(?:i|you|he|she|it|we|they)\b",
    re.I,
)
_LEANING_ELSEWHERE = frozenset(
    "er sie es ihr sein seine ihm ihn ihnen das dies diese dieser dieses dein und aber oder denn sondern also dann "
    "weil doch deshalb darum da so nee nein ja ella ello ellos ellas él tú usted ustedes este esta esto estos estas "
    "ese esa eso aquel su sus tu tus lo y e pero o u porque entonces también sino pues luego así no sí il elle ils "
    "elles ce cela ça son sa ses leur leurs ceci cet cette ces et mais ou donc or ni car puis alors oui non".split()
)
"""First words of sentences in German, Spanish and French that go on with another; articles are left out."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What can be understood alone.

    Attributes:
        sentences: Numbers of its sentences, in order, all of one message.
        texts: Their texts, without openers and asides.
        before: Number of the question that they answer, or of the statement to which they reply, in the message before.
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


def units_of(prose: Prose, names: Names) -> list[Unit]:
    """Return all units, by their first sentences.

    Args:
        prose: The conversation.
        names: Its names; "he" and "she" may mean those of people.
    """
    finder = _Finder(prose, names)
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

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._cleaned: dict[int, str] = {}
        self._verbs = english().verbs
        speakers = set(names.speakers.values())
        persons = {word for name in (*speakers, *(one.name for one in names.persons)) for word in name.split()}
        small = {word.text for one in prose.sentences for word in one.words if word.text[0].islower()}
        self._references = References(persons, small)
        called = "|".join(sorted({re.escape(name.split()[0]) for name in speakers}, reverse=True))
        address = rf"^(?:(?:{_GREETING})\s)?(?:{called})[,!]+\s+|,\s(?:{called})(?=[.!,]|$)"
        self._address = re.compile(address) if called else _NOTHING

    def units(self, numbers: Sequence[int], before: Sequence[int]) -> list[Unit]:
        """Return the units of a message.

        Args:
            numbers: Its sentences.
            before: The sentences of the message before.
        """
        found: list[Unit] = []
        for place in range(len(numbers)):
            for unit in (self._joined(numbers, place), None if place else self._reply(numbers, before)):
                if unit is not None:
                    end = unit.sentences[-1] - numbers[0] + 1
                    found += self._extended(unit, numbers[end : end + MAX_AFTER])
        return found

    def _joined(self, numbers: Sequence[int], place: int) -> Unit | None:
        """Return the sentence, with those before it that it refers to; None if it stays unclear."""
        texts: list[str] = []
        for start in range(place, max(-1, place - 1 - MAX_BEFORE), -1):
            text = self._clean(numbers[start])
            if self._says_nothing(numbers[start]):
                return None
            texts.insert(0, text)
            if len(texts) > 1 and sum(len(one.split()) for one in texts) > MAX_UNIT:
                return None
            is_begun = self._stands(text) or (
                has_verb(_words(texts[-1]), self._verbs) and len(texts) > 1 and self._introduces(text)
            )
            if is_begun and self._references.are_clear("; ".join(texts)):
                return Unit(tuple(numbers[start : place + 1]), tuple(texts))
        return None

    def _reply(self, numbers: Sequence[int], before: Sequence[int]) -> Unit | None:
        """Return the first sentence of a message with the question that it answers, or the statement it replies to."""
        # Thanks before an answer do not answer.
        place = int(len(numbers) > 1 and bool(_ONLY_THANKS.fullmatch(self._prose.sentences[numbers[0]].text)))
        first = self._prose.sentences[numbers[place]].text
        if is_question(first) or _is_no_speech(first) or len(first.split()) > MAX_UNIT:
            return None
        for number in before[:-3:-1]:
            question = self._clean(number)
            if is_question(question):
                is_short = bool(self._prose.sentences[number].content) and 1 < len(question.split()) <= MAX_QUESTION
                is_clear = is_short and self._references.are_clear(question, asked=True)
                is_clear = is_clear and self._references.are_clear(f"{question}; {first}", asked=True)
                return Unit((numbers[place],), (first.strip(),), number, question) if is_clear else None
        return self._exchange(numbers[place], before)

    def _exchange(self, number: int, before: Sequence[int]) -> Unit | None:
        """Return a sentence with the last statement before it."""
        if not before or self._says_nothing(before[-1]) or self._says_nothing(number):
            return None
        said, text = self._clean(before[-1]), self._clean(number)
        is_short = len(said.split()) + len(text.split()) <= MAX_UNIT
        if is_short and self._stands(said) and self._references.are_clear(said):
            if self._references.are_clear(f"{said}; {text}"):
                return Unit((number,), (text,), before[-1], said)
        return None

    def _extended(self, unit: Unit, following: Sequence[int]) -> list[Unit]:
        """Return a unit, and the longer ones that go on with what follows it."""
        found = [unit]
        for number in following:
            text = self._clean(number)
            if is_question(self._prose.sentences[number].text):
                break
            if self._says_nothing(number) or not self._adds(number, text):
                continue
            longer = Unit((*unit.sentences, number), (*unit.texts, text), unit.before, unit.said_before)
            needs_check = unit.before is None and self._references.has_pronoun(text)
            if longer.length > MAX_UNIT or (needs_check and not self._references.are_clear("; ".join(longer.texts))):
                break
            found.append(unit := longer)
        return found

    def _adds(self, number: int, text: str) -> bool:
        """Whether what follows a sentence says enough to go on with: it has a verb, a figure or several words."""
        is_sentence = has_verb(_words(text), self._verbs) or _DIGIT.search(text)
        return bool(is_sentence) or len(self._prose.sentences[number].content) > 1

    def _stands(self, text: str) -> bool:
        """Whether a unit may begin with a sentence: with a verb, and not with what goes on with another."""
        if (
            len(text.split()) < MIN_WORDS
            or _FRAGMENT.match(text)
            or _FIGURE.match(text)
            or not self._references.begins_alone(text)
        ):
            return False
        words = _words(text)
        is_cut = words[0].endswith("s") and words[0][:-1] in self._verbs  # "Sounds like the chain"
        conjunction = next((n for n, word in enumerate(words) if word in _SUBORDINATING), 0)
        return not is_cut and has_verb(words[:conjunction] or words, self._verbs)  # "From afar, since he is ill"

    def _introduces(self, text: str) -> bool:
        """Whether a fragment names what the next sentence speaks of: "Second, Vilhena." """
        return len(text.split()) <= MAX_HEADING and self._references.begins_alone(text) and not _FIGURE.match(text)

    def _says_nothing(self, number: int) -> bool:
        """Whether a sentence is a question, code, a heading or small talk."""
        sentence, text = self._prose.sentences[number], self._clean(number)
        if is_question(sentence.text) or _is_no_speech(sentence.text) or not _LETTER.search(text):
            return True
        if _HEADING.fullmatch(text.rstrip(".:")) or _INVERTED.match(text):
            return True
        return not sentence.content and not _DIGIT.search(text)

    def _clean(self, number: int) -> str:
        """Return a sentence without openers, asides and the name of who is addressed."""
        if number not in self._cleaned:
            text = _without_openers(self._prose.sentences[number].text)
            unaddressed = self._address.sub("", text)
            self._cleaned[number] = text if unaddressed == text else _without_openers(unaddressed)
        return self._cleaned[number]


def is_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(" \"')”’").endswith("?")


def _without_openers(text: str) -> str:
    for _ in range(4):
        match = _OPENER.match(text)
        if match is None:
            break
        text = text[match.end() :]
    if match := _BARE_OPENER.match(text):
        text = text[match.end() :]
    text = _ASIDE.sub("", text).strip(" ,;:-–—")
    return text[:1].upper() + text[1:]


def _units_elsewhere(prose: Prose, numbers: Sequence[int], before: Sequence[int]) -> list[Unit]:
    """Return the units of a message in another language: what does not lean, or answers, and what follows it."""
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
            if is_long or is_question(text) or _is_no_speech(text):
                break
            part = tuple(numbers[place : place + len(texts)])
            found.append(Unit(part, tuple(texts), question, "" if question is None else prose.sentences[question].text))
            if question is not None and not _leans_elsewhere(prose.sentences[number]):
                found.append(Unit(part, tuple(texts)))
    return found


def _leans_elsewhere(sentence: Sentence) -> bool:
    """Whether a sentence of another language begins with a pronoun, a figure or a conjunction, or is a fragment."""
    leaning = not sentence.words or sentence.words[0].lower in _LEANING_ELSEWHERE
    return leaning or bool(_FIGURE.match(sentence.text)) or sentence.text[:1].islower() or len(sentence.words) < 4


def _is_no_speech(text: str) -> bool:
    """Whether a sentence is code, markup or a caption."""
    return text[0] in _NO_SPEECH or bool(_CODE.search(text))


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in WORD.findall(text)]
