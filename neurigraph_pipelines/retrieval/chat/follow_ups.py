"""Follow-up questions: a question of a chat, completed from the turns before it.

"And when was that?" says nothing of what it asks about. The words of the question before are carried over, and names
take the place of pronouns. A question that stands alone is left as it is, so that it finds what it finds without a
chat. The words are those of English and German; in other languages only very short questions are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.text.calendar_words import MONTHS, MONTHS_SHORT, WEEKDAYS
from neurigraph_pipelines.text.lexemes import Lexer

MOST_CARRIED = 12
"""Most words that are carried over."""

MOST_TURNS = 20
"""Turns that are read, the last ones."""

_READ_CHARACTERS = 600
"""Of each turn: an answer may quote a lot."""

_WORD = re.compile(r"[^\W_]+(?:['’-](?!s\b)[^\W_]+)*")
_PERSONS = frozenset("he she they him them er sie ihn ihm ihnen".split())
_POSSESSIVES = frozenset("his her hers their theirs sein seine seinen seiner seinem ihr ihre ihren ihrer ihrem".split())
_THINGS = frozenset("it its es dessen deren davon damit dafür daran darüber dabei".split())
_POINTING = frozenset("that this those these das dies".split())
_PLACES = frozenset("there dort".split())
_BEING = frozenset("is are was were be been ist sind war waren 's".split())
_OWN = frozenset("i me my mine we us our ours ich mich mir mein meine meinen meiner wir uns unser unsere".split())
_DETERMINERS = frozenset("my our your the a an mein meine meinen unser unsere der die den ein eine einen".split())
_OPENING = re.compile(r"(?:and|but|so|or|also|what about|how about|und|aber|oder|was ist mit)\b", re.IGNORECASE)
_LEADING_ON = re.compile(r"\b(?:which ones?|the other ones?|the same|the rest|what else|who else|where else)\b", re.I)
_EXPLETIVE = re.compile(
    r"\bwhat time is it\b|\b(?:is|was) it (?:true|likely|possible|ok|okay|raining|snowing)\b"
    r"|\b(?:did|does|do|will|would) it take\b",
    re.I,
)
_VACUOUS = frozenset(
    "much many long often far big old exactly else more again really happen happened wie viel viele lange oft genau "
    "noch passiert yes no please ok okay thanks".split()
)
_CALENDAR = frozenset([*WEEKDAYS, *MONTHS, *MONTHS_SHORT])


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question.

    Attributes:
        is_name: It begins with a capital letter where that says something.
        is_content: It is no stop word.
    """

    text: str
    start: int
    is_name: bool
    is_content: bool

    @property
    def low(self) -> str:
        """The word in lower case."""
        return self.text.casefold()


def standing_alone(turns: Sequence[Turn], lexer: Lexer) -> str:
    """Return the last question of a chat, completed from earlier turns; unchanged if it stands alone.

    Args:
        turns: The chat so far; the last is the question.
    """
    topic: list[_Word] = []
    told: list[str] = []
    question = turns[-1].content
    for turn in turns[-MOST_TURNS:]:
        if turn.role != "user":
            told = _names_in(turn.content[:_READ_CHARACTERS], lexer)
            continue
        words = _words(turn.content[:_READ_CHARACTERS], lexer)
        carried: list[_Word] = []
        if topic and _is_follow_up(turn.content, words):
            carried = _carried(topic, words, told, lexer)
        if turn is turns[-1] and carried:
            question = _worded(question, words, carried)
        topic = [word for word in (*carried, *words) if word.is_content][-MOST_CARRIED:]
    return question


def _words(text: str, lexer: Lexer) -> list[_Word]:
    found = []
    is_first = True
    for match in _WORD.finditer(text):
        word = match[0]
        low = word.casefold()
        is_content = not lexer.is_stop_word(low) and low not in _VACUOUS and bool(lexer.lexemes(word))
        is_upper = word[0].isupper() and low not in _CALENDAR and low not in _OWN
        found.append(_Word(word, match.start(), is_upper and is_content and not is_first, is_content))
        is_first = text[match.end() : match.end() + 1] in (".", "!", "?")
    return found


def _is_follow_up(text: str, words: Sequence[_Word]) -> bool:
    """Return whether a question cannot be understood without the one before it."""
    if not words:
        return False
    names = [word for word in words if word.is_name]
    own = [word for word in words if word.is_content]
    if any(_refers_back(words, place) for place in range(len(words))) and not _EXPLETIVE.search(text):
        return True
    if names and own != names:
        return False
    if _LEADING_ON.search(text):
        return True
    others = [word for word in own if not word.is_name]
    if _OPENING.match(text.lstrip()):
        return len(others) <= 1
    is_own = any(word.low in _OWN for word in words)
    return not names and not is_own and (not own or (len(words) <= 3 and len(own) == 1))


def _refers_back(words: Sequence[_Word], place: int) -> bool:
    """Return whether a word points to something that the question does not name before it."""
    word = words[place]
    before = words[place - 1] if place else None
    after = words[place + 1] if place + 1 < len(words) else None
    is_possessive = word.low in _POSSESSIVES and word.low not in _PERSONS
    if any(one.is_name for one in (words if is_possessive else words[:place])):
        return False
    if word.low in _POINTING:
        is_last = after is None or after.low in _BEING or (not after.is_content and after.low not in _DETERMINERS)
        is_object = before is None or not before.is_content
        return is_object and is_last and (after is None or after.low not in _OWN | _PERSONS | _THINGS)
    if word.low in _PLACES:
        return not any(near is not None and near.low in _BEING for near in (before, after))
    if word.low == "then":
        return after is None
    is_named = any(one.low in _DETERMINERS and following.is_content for one, following in pairwise(words[:place]))
    return word.low in _PERSONS | _POSSESSIVES | _THINGS and not is_named


def _carried(topic: Sequence[_Word], words: Sequence[_Word], told: Sequence[str], lexer: Lexer) -> list[_Word]:
    """Return the words of the question before that this one does not say itself.

    Args:
        told: Names in the answer between them, for a person whom the question before did not name.
    """
    said = {stem for word in words for stem in lexer.lexemes(word.text)}
    has_names = any(word.is_name for word in words)
    carried = [word for word in topic if not (has_names and word.is_name) and not said & set(lexer.lexemes(word.text))]
    asks_person = any(word.low in _PERSONS | _POSSESSIVES for word in words)
    if asks_person and not has_names and not any(word.is_name for word in carried):
        carried = [*(_Word(name, 0, True, True) for name in told[:1]), *carried]
    return carried[-MOST_CARRIED:]


def _names_in(text: str, lexer: Lexer) -> list[str]:
    """Return the names in an answer, the most frequent first."""
    names = [word.text for word in _words(text, lexer) if word.is_name]
    return sorted(dict.fromkeys(names), key=lambda name: -names.count(name))


def _worded(question: str, words: Sequence[_Word], carried: Iterable[_Word]) -> str:
    """Return a question with a name for its first pronoun of a person, and the other words after it."""
    names = [word.text for word in carried if word.is_name]
    rest = [word.text for word in carried]
    person = next((word for word in words if word.low in _PERSONS | _POSSESSIVES), None)
    if names and person is not None:
        following = next((word for word in words if word.start > person.start), None)
        is_possessive = person.low in _POSSESSIVES and following is not None and following.is_content
        name = " ".join(names)
        end = person.start + len(person.text)
        question = f"{question[: person.start]}{name}{chr(39) + 's' if is_possessive else ''}{question[end:]}"
        rest = [word.text for word in carried if not word.is_name]
    if not rest:
        return question
    bare = question.rstrip().rstrip("?.! ")
    return f"{bare}, {' '.join(rest)}?"
