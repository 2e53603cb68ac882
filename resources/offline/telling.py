"""Units of a conversation worded for its summary: in the third person where that is certain, else as quotations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neurigraph_pipelines.model import Message, Role
from neurigraph_pipelines.text.calendar_words import MONTHS, WEEKDAYS
from resources.offline.dated_quotes import with_dates, written
from resources.offline.dates import is_dated
from resources.offline.lexicon import english, forms, lexicon_of
from resources.offline.names import Names
from resources.offline.prose import Prose
from resources.offline.retelling import lacks_subject, retold
from resources.offline.units import Unit

_FORMS = forms("telling")

MAX_MENTIONS = 3
"""How often a unit in the third person may name its speaker; a quotation reads better beyond that."""

MAX_NAME = 60

_BEFORE = 8
_CONTEXT = 400
"""So many messages, of each so many characters, are searched for what a date may count from."""

_CALENDAR = frozenset(WEEKDAYS) | frozenset(MONTHS) - {"may", "march"}
"""Words that keep their capital within a sentence, although some people write them small."""


class Teller:
    """Words the units of one conversation."""

    def __init__(self, prose: Prose, names: Names, year: int | None = None, *, is_named: bool = True) -> None:
        """Read the parts of a conversation that wording needs.

        Args:
            prose: The conversation.
            names: The names in it.
            year: The year that dates need not mention.
            is_named: Whether the owner is called by the name of the account.
        """
        self._is_named = is_named
        self._prose = prose
        self._names = names
        people = dict.fromkeys(map(self._called, range(len(prose.segment.messages))))
        self._pair = list(people) if len(people) == 2 else []
        written_small = {word.text for one in prose.sentences for word in one.words if word.text[0].islower()}
        lexicon = lexicon_of(prose.language)
        self._small = written_small | lexicon.stop | lexicon.common | english().verbs
        self._capitalised = {word for name in people for word in name.split()} | {"I"}
        self._year = year

    def period(self) -> str:
        """Return the days of the conversation, such as ``From 3 to 31 March 2025``."""
        days = [message.occurred_at.date() for message in self._prose.segment.messages]
        first, last = min(days), max(days)
        if first == last:
            return f"On {written(first, None)}"
        if (first.year, first.month) == (last.year, last.month):
            return f"From {first.day} to {written(last, None)}"
        return f"From {written(first, last.year)} to {written(last, None)}"

    def tell(self, unit: Unit) -> str:
        """Return a unit as one sentence."""
        first = self._prose.sentences[unit.sentences[0]]
        message, called, is_english = first.message, self._called(first.message), first.language == "en"
        texts = [self._dated(text, message) for text in unit.texts] if is_english else unit.texts
        if unit.before is not None:
            asked = self._prose.sentences[unit.before].message
            if not is_english:
                said, reply = _unended(_inside(unit.said_before)), _inside(_ended(self._joined(texts)))
                return f'{self._speaker(asked)}: "{said}"; {self._speaker(message)}: "{reply}"'
            question = _inside(self._dated(unit.said_before, asked))
            return _ended(f'Asked "{question}", {called} answered "{_inside(self._joined(texts))}."')
        if is_english and not any(map(lacks_subject, texts)):
            hearer = next((name for name in self._pair if name != called), None)
            told = [one for text in texts if (one := retold(text, called, hearer)) is not None]
            text = self._joined(told) if len(told) == len(texts) else ""
            if text and text.count(called) <= MAX_MENTIONS:
                is_own = called in text or self._prose.segment.messages[message].role is not Role.ASSISTANT
                return _ended(text) if is_own else f"{self._speaker(message)}: {_ended(text)}"
        return f'{self._speaker(message)}: "{_inside(_ended(self._joined(texts)))}"'

    def _dated(self, text: str, message: int) -> str:
        messages = self._prose.segment.messages
        if not is_dated(self._prose.segment, messages[message]):
            return text
        before = [one.content for one in messages[max(0, message - _BEFORE) : message]]
        said = messages[message].content.partition(text)[0]
        context = " ".join(content[-_CONTEXT:] for content in (*before, said))
        return with_dates(text, messages[message].occurred_at, self._year, context)

    def _speaker(self, number: int) -> str:
        """Return the name of a speaker before a quotation."""
        message = self._prose.segment.messages[number]
        author = self._author(message)
        if author and message.role is not Role.ASSISTANT:
            return self._names.speakers.get(author, author)[:MAX_NAME]
        return (message.author or message.role.value).capitalize()[:MAX_NAME]

    def _called(self, number: int) -> str:
        """Return the name of a speaker within a sentence."""
        message = self._prose.segment.messages[number]
        if message.role is Role.ASSISTANT or not self._author(message):
            return f"the {self._speaker(number).lower()}"
        return self._speaker(number)

    def _author(self, message: Message) -> str | None:
        return self._prose.segment.called(message) if self._is_named else message.author

    def _joined(self, texts: Sequence[str]) -> str:
        """Join sentences to one."""
        parts = [_unended(text) for text in texts]
        return paired("; ".join([parts[0], *map(self._lowered, parts[1:])]))

    def _lowered(self, text: str) -> str:
        """Return a sentence for the middle of another: with a small letter, if its first word is no name."""
        first = re.split(r"[\s,'’]", text, maxsplit=1)[0]
        is_name = first in self._capitalised or first.lower() in _CALENDAR or _FORMS.titled.match(text)
        is_common = first.lower() in self._small and not is_name
        return text[:1].lower() + text[1:] if is_common else text


def _unended(text: str) -> str:
    """Return a sentence without its full stop or exclamation marks."""
    plain = _FORMS.last_stop.sub("", text)
    return plain if "!" in plain else plain.replace("¡", "")


def _inside(text: str) -> str:
    """Return a text for the inside of quotation marks."""
    return paired(text).replace('"', "'").strip()


def _ended(sentence: str) -> str:
    """Return a sentence with a capital at its beginning and a full stop."""
    ended = sentence if _FORMS.end.search(sentence) else f"{sentence.rstrip(' ,;:-')}."
    return ended[0].upper() + ended[1:]


def paired(text: str) -> str:
    """Return a text that was cut out of a longer one without the quotation mark that lost its partner."""
    for marks in ('"', "“”„", "«»"):
        places = [one for one in range(len(text)) if text[one] in marks and not text[one - 1 : one].isdigit()]
        if len(places) % 2:
            is_end = places[0] > 0 and not text[places[0] - 1].isspace()
            lone = places[0] if is_end else places[-1]
            text = text[:lone] + text[lone + 1 :]
    is_open = _FORMS.single.match(text) and not _FORMS.single_end.search(text, 1)
    return text[bool(is_open) :].strip()
