"""Links that messages state in closed forms, such as "X because Y", "Y. That is why X" and "X. For example, Y".

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
_PART = re.compile(
    r"\b(?:is part of|are part of|ist teil von|sind teil von|es parte de|fait partie de)\b", re.IGNORECASE
)
_SO = re.compile(r"(?:that is why|that's why|that’s why|deshalb|deswegen|por eso|c'est pourquoi)\b", re.IGNORECASE)
_EXAMPLE = re.compile(r"(?:for example|for instance|zum beispiel|por ejemplo|par exemple)\b", re.IGNORECASE)
# Sentences that begin so are the effect of the one before, or an example of it.
_BEGINNINGS = ((_SO, "caused_by"), (_EXAMPLE, "instance_of"))
# Within a sentence: the relation, and whether the side before the words is where the link starts.
_WITHIN = ((_CAUSE_FOLLOWS, "caused_by", True), (_EFFECT_FOLLOWS, "caused_by", False), (_PART, "part_of", True))
_SENTENCE = re.compile(r"[^.!?\n]+")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact of a record: its statement and the messages that say it."""

    fact_id: UUID
    statement: str
    first_message: int
    last_message: int


def find_links(facts: Sequence[StatedFact], messages: Sequence[Message]) -> list[NewLink]:
    """Return the links that the cues in some messages state between the facts that these say."""
    words = {fact.fact_id: _words(fact.statement) for fact in facts}
    found: dict[tuple[UUID, UUID, str], NewLink] = {}
    for message, said in _said_in(facts, messages):
        if len(said) < 2:
            continue
        for start, end, relation, cue in islice(_sides(message.content), MAX_CUES):
            ends = [_best(side, said, words) for side in (start, end)]
            if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
                continue
            found.setdefault(
                (ends[0], ends[1], relation),
                NewLink(
                    End.fact(ends[0]),
                    End.fact(ends[1]),
                    relation,
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
    """Yield each message with the facts that it says. Each fact is examined once, and with the messages that it cites.

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


def _sides(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield where links start and end, each with the relation and the words that say so."""
    before = ""
    for match in _SENTENCE.finditer(text):
        sentence = match[0].strip()
        for pattern, relation in _BEGINNINGS:
            begins = pattern.match(sentence)
            if begins is not None and before:
                yield sentence[begins.end() :], before, relation, begins[0].lower()
        for pattern, relation, starts_before in _WITHIN:
            cue = pattern.search(sentence)
            if cue is not None:
                sides = sentence[: cue.start()], sentence[cue.end() :]
                start, end = sides if starts_before else sides[::-1]
                yield start, end, relation, cue[0].lower()
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
