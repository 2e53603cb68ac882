"""The schemas of a language model's answers about facts, and their conversion to domain values.

Whether the facts stand in the messages is checked in the domain (``knowledge.grounding``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import MAXYEAR, timedelta
from typing import Literal

from neurigraph_pipelines.model.facts import MAX_STATEMENT, FoundLink, ReadFact, Slot
from neurigraph_pipelines.model.links import MAX_REASON
from neurigraph_pipelines.text.iso_periods import period_of
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs
from resources.providers.answers import KeywordsAnswer, StrictAnswer, SummaryAnswer
from resources.well_formed import well_formed

MAX_PART = 200
"""Most characters of a place, a reason, a manner or a part of a slot."""

MAX_WHO = 10

MAX_LINKS = 5
"""Most links from one fact to others."""


class FactAnswer(StrictAnswer):
    """One fact, after the reason for it."""

    reason: str
    statement: str
    first_message: int
    last_message: int
    kind: Literal["event", "state", "preference", "plan", "decision", "commitment", "relation", "quantity", "other"]
    stated_as: Literal["statement", "inference", "observation"]
    who: list[str]
    where: str
    why: str
    how: str
    subject: str
    predicate: str
    object: str
    occurred: str
    confidence: float
    importance: float
    impact: Literal["high", "medium", "low"]


class LinkAnswer(StrictAnswer):
    """The relation of a fact to another one of the answer, after the reason for it; facts count from 1."""

    reason: str
    fact: int
    relation: Literal["caused_by", "influenced_by", "part_of", "instance_of"]
    other: int
    confidence: float


class FactsAnswer(StrictAnswer):
    """The facts of a transcript and the links between them; it may have none."""

    facts: list[FactAnswer]
    links: list[LinkAnswer]


class SegmentAnswer(StrictAnswer):
    """The index entry, the keywords and the facts of one transcript."""

    entry: SummaryAnswer
    keywords: KeywordsAnswer
    facts: FactsAnswer


def read_facts(answer: FactsAnswer, authors: Mapping[int, str | None]) -> list[ReadFact]:
    """Return the facts of one answer, without those of other messages.

    Args:
        answer: What the model answered.
        authors: The author of each message of the segment, by its number.
    """
    stated = {number: (one, _text(one.statement, MAX_STATEMENT)) for number, one in enumerate(answer.facts, start=1)}
    facts = {
        number: _fact(one, statement, authors[one.first_message])
        for number, (one, statement) in stated.items()
        if statement and one.first_message in authors and one.first_message <= one.last_message in authors
    }
    return [replace(fact, links=_links(number, answer.links, facts)) for number, fact in facts.items()]


def _links(number: int, links: Sequence[LinkAnswer], facts: Mapping[int, ReadFact]) -> tuple[FoundLink, ...]:
    """Return the links from one fact to others, the first of each relation to each."""
    found: dict[tuple[str, str], FoundLink] = {}
    for one in links:
        other = facts.get(one.other)
        if one.fact == number and other is not None and other.statement != facts[number].statement:
            reason = _text(one.reason, MAX_REASON) or None
            link = FoundLink(one.relation, other.statement, _share(one.confidence), reason)
            found.setdefault((one.relation, other.statement), link)
    return tuple(found.values())[:MAX_LINKS]


def in_order(windows: Iterable[Iterable[ReadFact]]) -> list[ReadFact]:
    """Return the facts of several windows in the order of their messages, without repetition."""
    found: dict[str, ReadFact] = {}
    for facts in windows:
        for fact in facts:
            found.setdefault(fact.statement.lower(), fact)
    return sorted(found.values(), key=lambda fact: (fact.first_message, fact.last_message))


def _fact(answer: FactAnswer, statement: str, author: str | None) -> ReadFact:
    kind, occurred = FactKind(answer.kind), period_of([answer.occurred.strip()])
    parts = [_text(part, MAX_PART) for part in (answer.subject, answer.predicate, answer.object)]
    end = occurred.ends_at if occurred and kind in (FactKind.PLAN, FactKind.COMMITMENT) else None
    return ReadFact(
        statement=statement,
        first_message=answer.first_message,
        last_message=answer.last_message,
        author=author,
        kind=kind,
        stated_as=StatedAs(answer.stated_as),
        who=tuple(dict.fromkeys(filter(None, (_text(one, MAX_PART) for one in answer.who))))[:MAX_WHO],
        where=_text(answer.where, MAX_PART) or None,
        why=_text(answer.why, MAX_PART) or None,
        how=_text(answer.how, MAX_PART) or None,
        slot=Slot(*parts) if all(parts) else None,
        occurred=occurred,
        expires_at=end + timedelta(days=1) if end and end.year < MAXYEAR else None,
        confidence=_share(answer.confidence),
        importance=_share(answer.importance),
        impact=Impact(answer.impact),
    )


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if value == value else 0.0  # not a number is not equal to itself


def _text(value: str, most: int) -> str:
    return " ".join(well_formed(value).split())[:most].strip()
