"""The facts of a record that stay: their figures and names stand in the messages that they cite, and not too many.

A language model that adds a figure or a name has guessed, and its fact is dropped. So is one that rests on what nobody
said: system messages and results of tools, those of our own searches among them. ``reading`` applies this.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from neurigraph_pipelines.model import Message, Role
from neurigraph_pipelines.model.facts import ReadFact, bounds_of

_BEFORE_AND_AFTER = 1
"""Messages before and after the cited ones that may have said a name or a figure."""

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?:\"“] )(?<!^)\b[A-ZÀ-Ý][\w'’-]+")
_WORD = re.compile(r"[\w'’-]+")
_DAY = re.compile(
    r"\b(?:\d{1,2}(?:st|nd|rd|th)?\s)?(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?:\s\d{1,2}(?:st|nd|rd|th)?\b)?(?:,?\s\d{4})?|\b(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
)
"""Written dates: they follow from the time of a message, so its text need not have them."""


_UNSAID = (Role.SYSTEM, Role.TOOL)


class Said:
    """The figures and words of the messages of a record, each with the numbers of the messages that have it.

    Every message is read once, and every word of a fact is looked up: a segment of 500,000 tokens may have thousands of
    facts, all of one message.
    """

    def __init__(self, messages: Sequence[Message], owner_name: str | None = None) -> None:
        """Read the messages of a record, in order; the owner may be called by name where no author is."""
        self._figures: dict[str, list[int]] = {}
        self._words: dict[str, list[int]] = {}
        self._spoken = [message.seq for message in messages if message.role not in _UNSAID]
        for message in messages:
            if message.role in _UNSAID:
                continue
            speaker = message.author or (message.role is Role.USER and owner_name) or message.role.value
            text = f"{speaker} {message.content}"
            for figure in set(_FIGURE.findall(text)):
                self._figures.setdefault(figure, []).append(message.seq)
            for word in set(_words(text)):
                self._words.setdefault(word, []).append(message.seq)

    def grounds(self, fact: ReadFact) -> bool:
        """Return whether a person said the cited messages, and they or their neighbours have the figures and names."""
        cited = bisect_left(self._spoken, fact.first_message)
        if cited == len(self._spoken) or self._spoken[cited] > fact.last_message:
            return False
        first, last = fact.first_message - _BEFORE_AND_AFTER, fact.last_message + _BEFORE_AND_AFTER

        def is_said(numbers: Sequence[int] | None) -> bool:
            place = bisect_left(numbers or (), first)
            return numbers is not None and place < len(numbers) and numbers[place] <= last

        undated = _DAY.sub(" ", fact.statement)
        return all(is_said(self._figures.get(figure)) for figure in _FIGURE.findall(undated)) and all(
            is_said(self._words.get(word)) for name in _NAME.findall(undated) for word in _words(name)
        )


def within_bounds(facts: Sequence[ReadFact], messages: Sequence[Message]) -> list[ReadFact]:
    """Return the most important facts of a record within the bounds of their number and words, in their order."""
    return most_important(facts, *bounds_of(messages))


def most_important(facts: Sequence[ReadFact], words: float, count: float) -> list[ReadFact]:
    """Return the most important facts, at most so many and with so many words, in their order."""
    chosen: list[int] = []
    for number in sorted(range(len(facts)), key=lambda one: (-facts[one].importance, one)):
        length = len(facts[number].statement.split())
        if len(chosen) < count and length <= words:
            chosen.append(number)
            words -= length
    return [facts[number] for number in sorted(chosen)]


def _words(text: str) -> Iterable[str]:
    return (word.lower().replace("’", "'").removesuffix("'s").strip("'-") for word in _WORD.findall(text))
