"""What an English sentence says without the others: whether it can begin a unit, go on with one, or says nothing."""

from __future__ import annotations

import re

from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.references import WORD, References
from resources.offline.retelling import IRREGULAR_PAST, has_verb, lacks_subject

MIN_WORDS = 3
"""Fewest words of the first sentence of a unit."""

MAX_HEADING = 5
"""Most words of a fragment that names what the next sentence speaks of."""

_OPENERS = (
    "ok|okay|yes|yeah|yep|yup|no|nope|nah|well|so|and|but|also|plus|then|anyway|right|oh|ah|hi|hello|hey|haha|lol|ehm|hmm|"
    "good morning|good evening|morning|thanks|thank you|sorry|of course|in fact|honestly|actually|update|noted|kept|"
    "agreed|deal|fine|sure|great|perfect|exactly|true|wow|done|listen|look|see|first|next|lovely|wonderful|problem|"
    "funny thing|good news|bad news|sad news|good point|you are right|you're right|i know|you know|i see|"
    r"by the way|to be honest|[a-z]{3,}ly(?=,)"
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
_FRAGMENT = re.compile(
    r"(?:about|around|only|over|almost|nearly|maybe|not|still|never|at|the) [^\w\s]?\d[^,]*,|(?:yes|no)\b"
    r"|(?:around |about )?[^\w\s]*\d",
    re.I,
)
_CODE = re.compile(r"[{}<>\\|=][^{}<>\\|=()]*[{}<>\\|=()]|;$|\w=|\s=\s|`|\w\(\w*\)|^\s*[-#/*]{2,}|https?://")
_NO_SPEECH = frozenset("[<|")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SUBORDINATING = frozenset("before since because when until if while so although than unless".split())
_HEADING = re.compile(r"(?:what|where|how|why|who|when|which)(?: [\w'’]+){1,6}", re.I)
_INVERTED = re.compile(
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might) "
    r"(?:i|you|he|she|it|we|they)\b",
    re.I,
)
_MAY = re.compile(r"\bMay\b")
_AGREES = re.compile(
    r"[^.;,!]{1,40} (?:it is|works|is|are|was|would be|sounds|looks)(?: (?:very|so|too|really|all|much|the))?"
    r"(?: (?:fine|good|great|perfect|better|best|ok|okay|right|wrong|true|lovely|nice|wonderful|steep|fair|enough|"
    r"possible|sure|easy|hard|cheap|expensive|surprised|sorry|happy|glad|late|early))?(?=[.;,!]|$)",
    re.I,
)
"""An answer that says only yes or no, or what somebody thinks of what was said."""

_PARTICIPLE = re.compile(
    r"\b(the|an?|no|my|our|his|her|their|two|three|four|five|six|seven|eight|nine|ten|twelve) [\w-]+ed (?=[a-z])", re.I
)
_NO_OBJECT = re.compile(
    r"\S+ (?:on|in|at|to|by|yesterday|today|tomorrow|tonight|this|last|next|it|him|her|them)\b", re.I
)
_LACKS_VERB = re.compile(r"\b(?:did|does|do|will|can|could|would|should|have|has)(?:n['’]t)?(?=[.;,!]|$)", re.I)
_NAMES = re.compile(r"\s[A-Z][^\W\d_]|['’]s\b")
_FIGURES = re.compile(r"(?:[^\W\d_]+ )?(?<![\d.,])[^\w\s]?\d[\w.,:/%-]*(?: [^\W\d_]+)?")
_BARE = re.compile(
    r"[^\W\d_]+ (?!(?:19|20)\d\d\b)\d{1,3}(?:\.\d+)?[.,;!]?(?: (?:and|or|at|in|on|if|but|so|then|as|after|with|to|from|"
    r"for|by|of|is|was|when|the|up|now))?"
)


class Standing:
    """Reads the sentences of one conversation, each once."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._verbs = english().verbs
        self._counting = english().verbs | IRREGULAR_PAST | {"counted", "manage", "to", "it", "for", "only"}
        speakers = set(names.speakers.values())
        self._persons = {word for name in (*speakers, *(one.name for one in names.persons)) for word in name.split()}
        small = {word.text for one in prose.sentences for word in one.words if word.text[0].islower()}
        self.references = References(self._persons, small)
        called = "|".join(sorted({re.escape(name.split()[0]) for name in speakers}, reverse=True))
        address = rf"^(?:(?:{_GREETING})\s)?(?:{called})[,!]+\s+|,\s(?:{called})(?=[.!,]|$)"
        self._address = re.compile(address) if called else _NOTHING
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
                or not _LETTER.search(text)
                or bool(_HEADING.fullmatch(text.rstrip(".:")) or _INVERTED.match(text))
                or not (sentence.content or _DIGIT.search(text))
            )
        return self._empty[number]

    def stands(self, number: int) -> bool:
        """Return whether a unit may begin with a sentence: it has a verb and does not go on with another."""
        if number not in self._standing:
            self._standing[number] = self._stands(self.clean(number))
        return self._standing[number]

    def is_clear(self, number: int) -> bool:
        """Return whether a sentence is a unit of its own."""
        return not self.says_nothing(number) and self.stands(number) and self.references.are_clear(self.clean(number))

    def adds(self, number: int) -> bool:
        """Return whether a unit may go on with a sentence: it has a verb, a figure or several words."""
        if self.says_nothing(number):
            return False
        content = len(self._prose.sentences[number].content)
        return self.has_verb(number) or content > 2 or (content > 1 and self._has_digit(number))

    def has_verb(self, number: int) -> bool:
        """Return whether a sentence has a verb."""
        return has_verb(_words(self.clean(number)), self._verbs)

    def introduces(self, number: int) -> bool:
        """Return whether a fragment names what the next sentence means by a pronoun: ``Second, Vilhena``."""
        text = self.clean(number)
        words = text.split()
        if not 0 < len(words) <= MAX_HEADING or _FRAGMENT.match(text):
            return False
        is_named = bool(_NAMES.search(text)) or words[0].rstrip(",.") in self._persons
        is_needed = not self.references.are_clear(self.clean(number + 1))
        return is_named and is_needed and self.references.begins_alone(text)

    def _stands(self, text: str) -> bool:
        if (
            len(text.split()) < MIN_WORDS
            or _FRAGMENT.match(text)
            or _AGREES.match(text)
            or _LACKS_VERB.search(text)
            or (lacks_subject(text) and _NO_OBJECT.match(text))
            or self._is_bare(text)
            or not self.references.begins_alone(text)
        ):
            return False
        words = _words(_PARTICIPLE.sub(r"\1 ", _MAY.sub("", text)))
        is_cut = words[0].endswith("s") and words[0][:-1] in self._verbs  # "Sounds like the chain"
        conjunction = next((n for n, word in enumerate(words) if word in _SUBORDINATING), 0)
        return not is_cut and has_verb(words[:conjunction] or words, self._verbs)  # "From afar, since he is ill"

    def _is_bare(self, text: str) -> bool:
        """Whether a sentence has figures and says of none what it counts: ``Some won't manage 640``."""
        figures = _FIGURES.findall(text) if _DIGIT.search(text) else []
        return bool(figures) and all(
            _BARE.fullmatch(one) and one.split()[0].lower() in self._counting for one in figures
        )

    def _has_digit(self, number: int) -> bool:
        return _DIGIT.search(self.clean(number)) is not None


def is_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(" \"')”’").endswith("?")


def is_no_speech(text: str) -> bool:
    """Whether a sentence is code, markup or a caption."""
    return text[0] in _NO_SPEECH or bool(_CODE.search(text))


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


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in WORD.findall(text)]
