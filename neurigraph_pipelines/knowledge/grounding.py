"""Which facts of a record stay: those whose figures and names stand in the messages that they cite, and not too many.

A language model that adds a figure or a name has guessed, and its fact is dropped. ``reading`` applies this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neurigraph_pipelines.model import Message
from neurigraph_pipelines.model.facts import Fact, bounds_of

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


def is_grounded(fact: Fact, messages: Sequence[Message]) -> bool:
    """Return whether the messages that a fact cites, or their neighbours, have its figures and names.

    Args:
        messages: The messages of its record, in order.
    """
    near = [
        message
        for message in messages
        if fact.first_message - _BEFORE_AND_AFTER <= message.seq <= fact.last_message + _BEFORE_AND_AFTER
    ]
    said = " ".join(f"{message.author or message.role.value} {message.content}" for message in near)
    undated = _DAY.sub(" ", fact.statement)
    figures = set(_FIGURE.findall(said))
    if any(figure not in figures for figure in _FIGURE.findall(undated)):
        return False
    words = set(_words(said))
    return all(word in words for name in _NAME.findall(undated) for word in _words(name))


def within_bounds(facts: Sequence[Fact], messages: Sequence[Message]) -> list[Fact]:
    """Return the most important facts of a record within the bounds of their number and words, in their order."""
    words, count = bounds_of(messages)
    chosen: list[int] = []
    for number in sorted(range(len(facts)), key=lambda one: (-facts[one].importance, one)):
        length = len(facts[number].statement.split())
        if len(chosen) < count and length <= words:
            chosen.append(number)
            words -= length
    return [facts[number] for number in sorted(chosen)]


def _words(text: str) -> Iterable[str]:
    return (word.lower().replace("’", "'").removesuffix("'s").strip("'-") for word in _WORD.findall(text))
