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
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.text.causes import Cause, causes_of, decided_by, refers_back
from neurigraph_pipelines.text.lexemes import lexer_of

OBSERVER = "rule:causal_cues"

CONFIDENCE = 0.75
"""Of closed forms without a language model."""

MIN_SHARE = 0.6
"""Least share of the words of a side of a cue that its fact has."""

MIN_WHOLE = 0.8
"""Least share of the words of a whole sentence that the fact has that is the effect and tells its cause."""

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
_GENERAL = re.compile(r"\b(?:choice|decision|idea|change|move|plan|problem|incident|experience)s?\b", re.I)
"""Words for what another sentence has told."""

_CHOSEN = re.compile(r"\b(?:uses?|now|chose|chosen|decided|picked|switched|decision)\b", re.I)
_BACK = re.compile(r"(?:it (?:all )?(?:goes|went) back to|the (?:main |real )?reason (?:was|is))\b", re.I)
_DECISION = re.compile(r"\b(?:chose|decided|decision|agreed|picked|switched|because)\b", re.I)
_LEXER = lexer_of("english")


@dataclass(frozen=True, slots=True)
class FactSaid:
    """A fact of a record: its statement and the messages that say it."""

    fact_id: UUID
    statement: str
    first_message: int
    last_message: int


def find_links(facts: Sequence[FactSaid], messages: Sequence[Message]) -> list[StatedLink]:
    """Return the links that the cues in some messages state between the facts that these and those before them say."""
    words = {fact.fact_id: words_of(fact.statement) for fact in facts}
    found: dict[tuple[UUID, UUID, str], StatedLink] = {}
    last: dict[tuple[str, str | None], str] = {}
    for message, said in _said_in(facts, messages):
        speaker = (message.role.value, message.author)
        if said:
            for sentence, one in islice(_stated(message.content, last.get(speaker, "")), MAX_CUES):
                whole = best_fact(sentence, said, words, MIN_WHOLE)
                start = whole or best_fact(one.effect, said, words)
                end = best_fact(one.cause, [fact for fact in said if fact.fact_id != start], words)
                if start is not None and end is not None:
                    link = _link(one, start, end, message.seq)
                    found.setdefault((start, end, one.relation), link)
        last[speaker] = next(reversed(_SENTENCE.split(message.content.strip()[-MAX_LAST:])), "")
    return list(found.values())


def links_to_earlier(
    facts: Sequence[FactSaid], messages: Sequence[Message], earlier: Sequence[FactSaid]
) -> list[StatedLink]:
    """Return the links from facts of some messages to reasons that were told before.

    Args:
        earlier: Facts of the same user that were told before, or in the same record, the last ones first.
    """
    words = {fact.fact_id: words_of(fact.statement) for fact in (*facts, *earlier)}
    found: dict[tuple[UUID, UUID, str], StatedLink] = {}
    for message, said in _said_in(facts, messages):
        for sentence, one in islice(_stated(message.content, ""), MAX_CUES) if said else ():
            start = best_fact(sentence, said, words, MIN_WHOLE) or best_fact(one.effect, said, words)
            others = [fact for fact in earlier if fact.fact_id != start and fact.last_message < message.seq]
            end = _told_before(one, others, words) if start is not None else None
            if start is not None and end is not None:
                found.setdefault((start, end, one.relation), _link(one, start, end, message.seq))
    return list(found.values())


def _told_before(stated: Cause, earlier: Sequence[FactSaid], words: Mapping[UUID, frozenset[str]]) -> UUID | None:
    own = words_of(_GENERAL.sub(" ", stated.cause))
    if len(own) > 1:
        return best_fact(_GENERAL.sub(" ", stated.cause), earlier, words)
    if not own or not refers_back(stated.cause):
        return None
    is_choice = _GENERAL.search(stated.cause) is not None
    found = (one for one in earlier if own <= words[one.fact_id] and (not is_choice or _CHOSEN.search(one.statement)))
    return next((one.fact_id for one in found), None)


def find_deciders(facts: Sequence[FactSaid], messages: Sequence[Message]) -> Iterator[tuple[UUID, str, int]]:
    """Yield facts with the names of those who decided, as messages state it, and the numbers of the messages."""
    words = {fact.fact_id: words_of(fact.statement) for fact in facts}
    for message, said in _said_in(facts, messages):
        before = ""
        for sentence in _SENTENCE.split(message.content) if said else ():
            decided = decided_by(sentence)
            start = best_fact(before if decided.is_of_before else sentence, said, words) if decided else None
            if decided is not None and start is not None:
                yield from ((start, name, message.seq) for name in decided.who)
            before = sentence


def _link(stated: Cause, start: UUID, end: UUID, message: int) -> StatedLink:
    ends = LinkEnd.fact(start), LinkEnd.fact(end)
    reason = f"the message says: {stated.cue}"
    return StatedLink(*ends, stated.relation, OBSERVER, Detector.RULE, CONFIDENCE, CONFIDENCE, reason, (message,))


def _said_in(facts: Sequence[FactSaid], messages: Sequence[Message]) -> Iterator[tuple[Message, list[FactSaid]]]:
    """Yield each message with the facts that it and the few before it say, the last ones.

    Args:
        messages: In order.
    """
    waiting = deque(sorted(facts, key=lambda one: one.first_message))
    said: list[FactSaid] = []
    for message in messages:
        while waiting and waiting[0].first_message <= message.seq:
            said.append(waiting.popleft())
        said = [fact for fact in said[-MAX_FACTS:] if message.seq - REACH <= fact.last_message]
        yield message, said


def _stated(text: str, before: str) -> Iterator[tuple[str, Cause]]:
    """Yield the sentences of a message that state something, and their statements.

    Args:
        text: The message.
        before: The last sentence of its speaker before it.
    """
    decision = ""
    for sentence in _SENTENCE.split(text):
        # "It goes back to …" tells the reason of a decision rather than of the sentence before.
        for one in causes_of(sentence, decision if decision and _BACK.match(sentence) else before):
            # A reason alone says nothing of its effect.
            yield one.effect if one.spans_sentences and one.effect in before + decision else sentence, one
        before = sentence or before
        decision = sentence if _DECISION.search(sentence) else decision


def best_fact(
    side: str, facts: Sequence[FactSaid], words: Mapping[UUID, frozenset[str]], share: float = MIN_SHARE
) -> UUID | None:
    """Return the fact with most of the words of one side of a cue; None if no fact has most of them."""
    own = words_of(side)
    best, score = None, 0.0
    for fact in facts:
        theirs = words[fact.fact_id]
        common = len(own & theirs)
        if not common or common < share * len(own) or common < MIN_OWN * len(theirs):
            continue
        if (likeness := 2 * common / (len(own) + len(theirs))) > score:
            best, score = fact.fact_id, likeness
    return best


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that mean something."""
    return frozenset(_LEXER.lexemes(text))
