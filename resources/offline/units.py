"""The smallest parts of a conversation that can be understood alone: what a summary chooses from.

A unit is one sentence, a sentence together with those that it refers to, or a short question with its answer. Sentences
that stay unclear belong to no unit. The rules for English are conservative; in other languages every sentence that does
not begin with a pronoun, a conjunction or a figure is a unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose, Sentence
from resources.offline.retelling import IRREGULAR_PAST, has_verb

MAX_UNIT = 45
"""Most words of a unit of several sentences."""

MAX_FOLLOWING = 2
"""Most sentences that follow the one which a unit is about."""

MAX_QUESTION = 16
"""Most words of a question that is quoted with its answer."""

_OPENERS = (
    "ok|okay|yes|yeah|yep|no|nope|well|so|and|but|also|plus|then|anyway|anyways|right|oh|ah|hi|hello|hey|haha|lol|ehm|hmm|"
    "good morning|good evening|morning|thanks|thank you|sorry|of course|in fact|honestly|actually|update|noted|kept|"
    "agreed|deal|fine|sure|great|perfect|exactly|true|wow|done|listen|look|see|first|next|lovely|wonderful|funny thing|"
    "good news|bad news|sad news|problem|good point|i know|you know|i see|by the way|to be honest"
)
_OPENER = re.compile(rf"(?:{_OPENERS})(?: (?:again|all|everyone|everybody))?\s*(?:[,!.:;…-]|–|—)+\s+", re.I)
_BARE_OPENER = re.compile(r"(?:and|but|so|also|anyway|then|plus|oh|ok|okay|yeah)\s+(?!(?:far|much|many|that|long)\b)", re.I)
_ASIDE = re.compile(
    r",? (?:by the way|to be honest|thank god|you know|i guess|i mean|haha|lol)(?=[,.!?]|$)|\s*[:;]-?[)(DP](?=\s|$)", re.I
)
_NOTHING = re.compile(r"(?!)")

_PERSONAL = frozenset("he she him her his hers himself herself".split())
_OBJECTS = frozenset("him her them".split())
_PLURAL = frozenset("they them their theirs themselves".split())
_CLAUSE = frozenset("and but or when that because so if who which while although though after before since until as".split())
_POINTING = frozenset("this that these those".split())
_LEANING = frozenset(
    "he she it they him them his her hers its their theirs this that these those here such another either neither both "
    "because which who whose whom or nor yet than as same else instead one ones".split()
)
_EMPTY_IT = re.compile(
    r"\bit(?:'s| is| was| will be| takes?| took| rain(?:s|ed)| snow(?:s|ed))\b(?= (?:\w+ ){0,2}(?:that|to|if|when|for|a week|day|year|month|hour|cold|"
    r"late|early|raining|time)\b)",
    re.I,
)
_THIS_TIME = re.compile(
    r"(?:this|these) (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|afternoon|evening|week|weekend|month|year|"
    r"spring|summer|autumn|fall|winter|days)\b",
    re.I,
)
_FRAGMENT = re.compile(r"(?:about|around|only|over|almost|nearly|maybe|not|still|never|at|the) [^\w\s]?\d[^,]*,|(?:yes|no)\b", re.I)
_POINTS_BACK = re.compile(
    r"\b(?:that|this|those|these|there|then|one|ones|so|too|either|same|both|either way)(?=[,.;!?]|$)|"
    r"\b(?:an?|the|that|this) \w+ one\b|\b(?:the (?:other|others|same|rest|first|second|latter|former)|(?:both|some|none|all|each|half|most|one|two|three) of "
    r"(?:them|it|those|these)|the \w+ one|which one)\b",
    re.I,
)
_LEANING_ELSEWHERE = frozenset(
    "er sie es ihr sein seine ihm ihn ihnen das dies diese dieser dieses dein und aber oder denn sondern also dann weil "
    "doch deshalb darum da so nee nein ja ella ello ellos ellas él tú usted ustedes este esta esto estos estas ese esa "
    "eso aquel su sus tu tus lo y e pero o u porque entonces también sino pues luego así no sí il elle ils elles ce "
    "cela ça son sa ses leur leurs ceci cet cette ces et mais ou donc or ni car puis alors oui non".split()
)
"""First words of sentences in German, Spanish and French that lean on others; articles are left out."""

_PERSON_WORDS = frozenset(
    "man woman lady guy boy girl boss doctor lawyer solicitor teacher owner secretary physio mediator dentist principal "
    "manager colleague neighbour neighbor kid child baby cat dog surgeon nurse landlord plumber agent person".split()
)
_CODE = re.compile(r"[{}<>\\|=;][^{}<>\\|=;()]*[{}<>\\|=;()]|\w=|\s=\s|```|`|\w\(\w*\)|^\s*[-#/*]{2,}|https?://")
_FIGURE = re.compile(r"[^\w\s]*\d")
_DIGIT = re.compile(r"\d")
_HEADING = re.compile(r"(?:what|where|how|why|who|when|which) (?:[\w'’]+\s?){1,6}", re.I)
_INVERTED = re.compile(
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might) (?:i|you|he|she|it|we|they)\b",
    re.I,
)
_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Unit:
    """What can be understood alone.

    Attributes:
        sentences: Numbers of its sentences, in order, all of one message.
        texts: Their texts, without openers and asides.
        question: Number of the question that they answer, in the message before.
    """

    sentences: tuple[int, ...]
    texts: tuple[str, ...]
    question: int | None = None

    @property
    def length(self) -> int:
        """Number of words."""
        return sum(len(text.split()) for text in self.texts)


def units_of(prose: Prose, names: Names, *, is_english: bool) -> list[Unit]:
    """Return all units, by their first sentences.

    Args:
        prose: The conversation.
        names: Its names; to those of people "he" and "she" may refer.
        is_english: Whether the rules for English apply.
    """
    finder = _Finder(prose, names) if is_english else None
    units: list[Unit] = []
    before: list[int] = []
    first = 0
    for sentences in prose.by_message.values():
        numbers = list(range(first, first + len(sentences)))
        first += len(sentences)
        if finder is not None:
            units += finder.units(numbers, before)
        else:
            units += _plain_units(prose, numbers)
        before = numbers
    return units


def is_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(" \"')”’").endswith("?")


def cleaned(text: str) -> str:
    """Return a sentence without openers, such as "Well,", and asides, such as "by the way"."""
    for _ in range(4):
        shorter = text[match.end() :] if (match := _OPENER.match(text)) else text
        if shorter == text:
            break
        text = shorter
    if match := _BARE_OPENER.match(text):
        text = text[match.end() :]
    text = _ASIDE.sub("", text).strip(" ,;:-–—")
    return text[:1].upper() + text[1:]


class _Finder:
    """Finds the units of English text."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        speakers = set(names.speakers.values())
        self._persons = frozenset(
            word for name in (*speakers, *(one.name for one in names.persons)) for word in name.split()
        )
        called = "|".join(sorted({re.escape(name.split()[0]) for name in speakers}, reverse=True))
        self._address = re.compile(rf"^(?:{called})[,!]+\s+|,\s(?:{called})(?=[.!,]|$)") if called else _NOTHING
        lexicon = english()
        self._verbs = lexicon.verbs
        self._last_words = frozenset(map(str.lower, self._persons))
        self._people = _PERSON_WORDS | frozenset(lexicon.relations)

    def units(self, numbers: Sequence[int], before: Sequence[int]) -> list[Unit]:
        """Return the units of a message.

        Args:
            numbers: Its sentences.
            before: The sentences of the message before.
        """
        found: list[Unit] = []
        for place, number in enumerate(numbers):
            text = self._prose.sentences[number].text
            if _is_code(text) or is_question(text):
                continue
            for unit in (self._joined(numbers, place), None if place else self._answer(numbers, before)):
                if unit is not None:
                    found += self._extended(unit, numbers[place + 1 : place + 1 + MAX_FOLLOWING])
        return found

    def _extended(self, unit: Unit, following: Sequence[int]) -> list[Unit]:
        """Return a unit, and the longer ones that go on with what follows it."""
        found = [unit]
        for number in following:
            raw = self._prose.sentences[number].text
            text = self._clean(raw)
            if is_question(raw) or _is_code(raw):
                break
            if self._says_nothing(number, text) or not (has_verb(_words(text), self._verbs) or _DIGIT.search(text)):
                continue
            longer = Unit((*unit.sentences, number), (*unit.texts, text), unit.question)
            if longer.length > MAX_UNIT:
                break
            if unit.question is None and not self._is_resolved("; ".join(longer.texts)):
                break
            found.append(unit := longer)
        return found

    def _clean(self, text: str) -> str:
        return cleaned(self._address.sub("", cleaned(text)))

    def _says_nothing(self, number: int, text: str) -> bool:
        """Whether a sentence is code, a question, a heading or small talk."""
        sentence = self._prose.sentences[number]
        if is_question(sentence.text) or _is_code(sentence.text) or not _LETTERS.search(text):
            return True
        if _HEADING.fullmatch(text.rstrip(".:")) or _INVERTED.match(text):
            return True
        return not sentence.content and not any(map(str.isdigit, text))

    def _joined(self, numbers: Sequence[int], place: int) -> Unit | None:
        """Return the sentence, with those before it that it refers to; None if it stays unclear."""
        texts: list[str] = []
        for start in range(place, max(-1, place - 3), -1):
            raw = self._prose.sentences[numbers[start]].text
            text = self._clean(raw)
            if self._says_nothing(numbers[start], text):
                return None
            texts.insert(0, text)
            if sum(len(one.split()) for one in texts) > MAX_UNIT and len(texts) > 1:
                return None
            if self._is_clear(texts):
                return Unit(tuple(numbers[start : place + 1]), tuple(texts))
        return None

    def _answer(self, numbers: Sequence[int], before: Sequence[int]) -> Unit | None:
        """Return the first sentence of an answer with its question."""
        first = self._prose.sentences[numbers[0]].text
        if is_question(first) or _is_code(first) or len(first.split()) > MAX_UNIT:
            return None
        for number in before[: -3 : -1]:
            question = self._prose.sentences[number].text
            if is_question(question):
                known = 3 <= len(question.split()) <= MAX_QUESTION and self._is_resolved(question, asked=True)
                return Unit((numbers[0],), (first.strip(),), number) if known else None
        return None

    def _is_clear(self, texts: Sequence[str]) -> bool:
        words = _words(texts[0])
        leaning = bool(words) and words[0].split("'")[0] in _LEANING and not _THIS_TIME.match(texts[0])
        if not words or leaning or _FRAGMENT.match(texts[0]) or _FIGURE.match(texts[0]) or not has_verb(words, self._verbs):
            return False
        return self._is_resolved("; ".join(texts))

    def _is_resolved(self, text: str, *, asked: bool = False) -> bool:
        """Whether every pronoun of ``text`` has something before it that it may refer to."""
        plain = _EMPTY_IT.sub("", text)
        if (match := _POINTS_BACK.search(plain)) and len(plain[: match.start()].split()) < 8:
            return False
        spans = list(re.finditer(r"[^\W_]+(?:['’-][^\W_]+)*", plain))
        words = [span.group() for span in spans]
        if asked and words and words[0].lower() in _LEANING - {"which", "who", "whose"}:
            return False
        seen = _Seen()
        for place, word in enumerate(words):
            bare = word.lower().replace("’", "'").split("'")[0]
            if place and (bare in _CLAUSE or plain[spans[place - 1].end()] in ",;:"):
                seen.close_clause()
            if bare in _POINTING and place + 1 < len(words) and not seen.thing and _is_verb_like(words[place + 1].lower()):
                return False
            if not seen.explains(bare) and not (asked and seen.thing):
                return False
            is_person = bare in self._people or bare.rstrip("s") in self._people or word.split("'")[0] in self._persons
            if is_person and place and word[0].isupper() and words[place - 1].lower() in self._people | self._last_words:
                pass  # "my daughter Achieng" and "Inês Couto" are one person
            elif is_person:
                seen.person(is_plural=bare.endswith("s") and bare not in self._people and word[0].islower())
            elif self._is_thing(word, bare, place):
                seen.add_thing(is_plural=bare.endswith("s") or word[0].isupper())
        return True

    def _is_thing(self, word: str, bare: str, place: int) -> bool:
        """Whether a word may be what "it" or "they" refers to."""
        if place > 0 and word[0].isupper() and bare != "i":
            return True
        lexicon = english()
        return not (bare in lexicon.stop or bare in lexicon.filler or bare in self._verbs or bare.isdigit()) and len(bare) > 2


class _Seen:
    """What a sentence has mentioned so far, to which its pronouns may refer."""

    def __init__(self) -> None:
        self.thing = False
        self._persons = 0
        self._persons_before = 0
        self._plural = False

    def person(self, *, is_plural: bool) -> None:
        self._persons += 1
        self._plural |= is_plural or self._persons > 1

    def add_thing(self, *, is_plural: bool) -> None:
        self.thing = True
        self._plural |= is_plural

    def close_clause(self) -> None:
        self._persons_before = self._persons

    def explains(self, word: str) -> bool:
        """Whether ``word`` is no pronoun, or one that may refer to something before it."""
        if word in _PERSONAL:
            # The object of a clause is not its subject.
            return self._persons > 1 or self._persons_before > 0 or (self._persons > 0 and word not in _OBJECTS)
        if word in _PLURAL:
            return self._plural
        return self.thing if word in {"it", "its", "itself"} else True


def _is_verb_like(word: str) -> bool:
    return word.split("'")[0] in {"is", "was", "are", "were", "will", "would", "makes", "means", "has"} or word in IRREGULAR_PAST


def _plain_units(prose: Prose, numbers: Sequence[int]) -> list[Unit]:
    """Return the units of a message in another language: what does not lean, with up to two sentences after it."""
    found: list[Unit] = []
    for place, number in enumerate(numbers):
        texts: list[str] = []
        for later in numbers[place : place + 1 + MAX_FOLLOWING]:
            sentence = prose.sentences[later]
            texts.append(sentence.text)
            if is_question(sentence.text) or _is_code(sentence.text) or len(" ".join(texts).split()) > MAX_UNIT:
                break
            if later == number and _leans_elsewhere(sentence):
                break
            found.append(Unit(tuple(numbers[place : place + len(texts)]), tuple(texts)))
    return found


def _leans_elsewhere(sentence: Sentence) -> bool:
    """Whether a sentence of another language begins with a pronoun, a figure or a conjunction, or is a fragment."""
    text = sentence.text
    leaning = not sentence.words or sentence.words[0].lower in _LEANING_ELSEWHERE
    return leaning or bool(_FIGURE.match(text)) or text[:1].islower() or len(sentence.words) < 4


def _is_code(text: str) -> bool:
    return bool(_CODE.search(text))


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text)]
