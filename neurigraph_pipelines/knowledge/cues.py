"""Links that messages state in closed forms, such as "X because Y", "Y. That is why X" and "X. For example, Y".

Each side of a cue is matched with the fact that has most of its words. ``text.causes`` reads the forms.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from neurigraph_pipelines.model import Detector, Message
from neurigraph_pipelines.model.links import End, NewLink
from neurigraph_pipelines.text.causes import Cause, causes_of
from neurigraph_pipelines.text.lexemes import lexer_of

OBSERVER = "rule:causal_cues"

CONFIDENCE = 0.75
"""Of closed forms without a language model."""

MIN_SHARE = 0.6
"""Least share of the words of a side of a cue that its fact has."""

MIN_OWN = 0.2
"""Least share of the words of a fact that its side of a cue has."""

REACH = 2
"""Messages before one with a cue of whose facts it may speak."""

MAX_FACTS = 40
"""Most facts that a cue is matched with, the last ones."""

MAX_LAST = 500
"""Characters at the end of a message in which its last sentence is looked for."""

MAX_CUES = 100
"""Most cues of one message that are matched with its facts: a message may have thousands of both."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEXER = lexer_of("english")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact of a record: its statement and the messages that say it."""

    fact_id: UUID
    statement: str
    first_message: int
    last_message: int


def find_links(facts: Sequence[StatedFact], messages: Sequence[Message]) -> list[NewLink]:
    """Return the links that the cues in some messages state between the facts that these and those before them say."""
    words = {fact.fact_id: words_of(fact.statement) for fact in facts}
    found: dict[tuple[UUID, UUID, str], NewLink] = {}
    last: dict[tuple[str, str | None], str] = {}
    for message, said in _said_in(facts, messages):
        speaker = (message.role.value, message.author)
        if said:
            for one in islice(_stated(message.content, last.get(speaker, "")), MAX_CUES):
                start = best_fact(one.effect, said, words)
                end = best_fact(one.cause, [fact for fact in said if fact.fact_id != start], words)
                if start is not None and end is not None:
                    link = _link(one, start, end, message.seq)
                    found.setdefault((start, end, one.relation), link)
        last[speaker] = next(reversed(_SENTENCE.split(message.content.strip()[-MAX_LAST:])), "")
    return list(found.values())


def _link(stated: Cause, start: UUID, end: UUID, message: int) -> NewLink:
    ends = End.fact(start), End.fact(end)
    reason = f"the message says: {stated.cue}"
    return NewLink(*ends, stated.relation, OBSERVER, Detector.RULE, CONFIDENCE, CONFIDENCE, reason, (message,))


def _said_in(facts: Sequence[StatedFact], messages: Sequence[Message]) -> Iterator[tuple[Message, list[StatedFact]]]:
    """Yield each message with the facts that it and the few before it say, the last ones.

    Args:
        messages: In order.
    """
    waiting = deque(sorted(facts, key=lambda one: one.first_message))
    said: list[StatedFact] = []
    for message in messages:
        while waiting and waiting[0].first_message <= message.seq:
            said.append(waiting.popleft())
        said = [fact for fact in said[-MAX_FACTS:] if message.seq - REACH <= fact.last_message]
        yield message, said


def _stated(text: str, before: str) -> Iterator[Cause]:
    """Yield what the sentences of a message state.

    Args:
        text: The message.
        before: The last sentence of its speaker before it.
    """
    for sentence in _SENTENCE.split(text):
        yield from causes_of(sentence, before)
        before = sentence or before


def best_fact(side: str, facts: Sequence[StatedFact], words: Mapping[UUID, frozenset[str]]) -> UUID | None:
    """Return the fact that says what one side of a cue says; None if none has most of its words."""
    own = words_of(side)
    best, score = None, 0.0
    for fact in facts:
        theirs = words[fact.fact_id]
        common = len(own & theirs)
        if not common or common < MIN_SHARE * len(own) or common < MIN_OWN * len(theirs):
            continue
        if (likeness := 2 * common / (len(own) + len(theirs))) > score:
            best, score = fact.fact_id, likeness
    return best


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that mean something."""
    return frozenset(_LEXER.lexemes(text))
