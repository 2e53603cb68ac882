"""Causes that messages state in closed forms, such as "X because Y" and "Y. That is why X".

Each side of a cue is matched with the fact that shares most of its words. English, German, Spanish and French.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from neurigraph_pipelines.model import Detector, Message
from neurigraph_pipelines.model.links import End, NewLink

OBSERVER = "rule:causal_cues"

CONFIDENCE = 0.75
"""Of closed forms without a language model."""

MIN_SHARE = 0.5
"""Least share of a fact's words that its side of a cue has."""

MAX_CUES = 100
"""Most cues of one message that are matched with its facts: a message may have thousands of both."""

# The side after these words is the cause of the side before them, and the other way round. Alternatives of fixed words:
# each text is read once.
_CAUSE_FOLLOWS = re.compile(r"\b(?:because|was caused by|were caused by|weil|porque|parce que)\b", re.IGNORECASE)
_EFFECT_FOLLOWS = re.compile(r"\b(?:led to|resulted in|which is why|führte zu|llevó a|a conduit à)\b", re.IGNORECASE)
# A sentence that begins with these is the effect of the one before.
_SO = re.compile(r"(?:that is why|that's why|that’s why|deshalb|deswegen|por eso|c'est pourquoi)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact of a record: its statement and the messages that say it."""

    fact_id: UUID
    statement: str
    first_message: int
    last_message: int


def find_causes(facts: Sequence[StatedFact], messages: Sequence[Message]) -> list[NewLink]:
    """Return the links that the cues in some messages state between the facts that these say."""
    words = {fact.fact_id: _words(fact.statement) for fact in facts}
    found: dict[tuple[UUID, UUID], NewLink] = {}
    for message, said in _said_in(facts, messages):
        if len(said) < 2:
            continue
        for effect, cause, cue in islice(_sides(message.content), MAX_CUES):
            ends = [_best(side, said, words) for side in (effect, cause)]
            if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
                continue
            found.setdefault(
                (ends[0], ends[1]),
                NewLink(
                    End.fact(ends[0]),
                    End.fact(ends[1]),
                    "caused_by",
                    OBSERVER,
                    Detector.RULE,
                    CONFIDENCE,
                    CONFIDENCE,
                    f"the message says: {cue}",
                    (message.seq,),
                ),
            )
    return list(found.values())


def _said_in(facts: Sequence[StatedFact], messages: Sequence[Message]) -> Iterator[tuple[Message, list[StatedFact]]]:
    """Yield each message with the facts that it says. Each fact is looked at once, and with the messages that it cites.

    Args:
        messages: In order.
    """
    waiting = deque(sorted(facts, key=lambda one: one.first_message))
    said: list[StatedFact] = []
    for message in messages:
        while waiting and waiting[0].first_message <= message.seq:
            said.append(waiting.popleft())
        said = [fact for fact in said if message.seq <= fact.last_message]
        yield message, said


def _sides(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield effects and causes, each with the words that say so."""
    before = ""
    for match in _SENTENCE.finditer(text):
        sentence = match[0].strip()
        so = _SO.match(sentence)
        if so is not None and before:
            yield sentence[so.end() :], before, so[0].lower()
        for pattern, cause_follows in ((_CAUSE_FOLLOWS, True), (_EFFECT_FOLLOWS, False)):
            cue = pattern.search(sentence)
            if cue is not None:
                sides = sentence[: cue.start()], sentence[cue.end() :]
                effect, cause = sides if cause_follows else sides[::-1]
                yield effect, cause, cue[0].lower()
        before = sentence or before


def _best(side: str, facts: Sequence[StatedFact], words: dict[UUID, set[str]]) -> UUID | None:
    """Return the fact that shares most with one side of a cue, relative to the words of both."""
    own = _words(side)
    best, share = None, 0.0
    for fact in facts:
        theirs = words[fact.fact_id]
        common = len(own & theirs) / len(theirs) if theirs else 0.0
        if common >= MIN_SHARE and common > share:
            best, share = fact.fact_id, common
    return best


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
