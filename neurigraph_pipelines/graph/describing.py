"""A sentence on who somebody is, for the caller: from relations that hold and from facts that stand.

Made when it is read, from what the caller sees, so it follows every change and shows nobody a fact that is closed to
them. ``shell`` keeps the summary that routes new memories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.sql import SQL

from neurigraph_pipelines.database.asking import typed
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import ConceptKind

MOST_RELATIONS, MOST_TOLD = 3, 4
"""Relations and facts that one sentence names."""

UNINFORMATIVE_LABELS = frozenset(["mentions", "talks with", "related to"])
"""Edge labels that do not say what a person is."""

_TOLD = {
    "works as": ("occupation", "{}"),
    "is": ("what", "{}"),
    "works at": ("employer", "works at {}"),
    "joined": ("employer", "works at {}"),
    "lives in": ("home", "lives in {}"),
    "moved to": ("home", "lives in {}"),
    "studies": ("studies", "studies {}"),
    "married to": ("spouse", "married to {}"),
    "allergic to": ("allergy", "allergic to {}"),
}
"""By predicate the slot that it fills, whose last value counts, and its words; in the order of the sentence."""

_SLOTS = list(dict.fromkeys(slot for slot, _ in _TOLD.values()))
_BEGINS = re.compile(r"\b(?:made|appointed|promoted|named|became|joined|started|moved|since)\b")
"""Words after which the day of a fact is the day since which it holds."""

_NO_LONGER = re.compile(
    r"\b(?:was|were|worked|lived|studied|not|n['’]t|no longer)\b(?! (?:made|promoted|appointed|named))"
)
_ARTICLE = re.compile(r"^(?:an?\s|(?:the\s)?user['’]s\s|the\s)")
_TO_SOMEBODY = re.compile(r".+['’]s?\s[a-z-]+(?:\s[a-z-]+)?")
"""A role towards somebody, such as ``Ana's husband``: people have several at once."""

_GROWTH = re.compile(r"\s*\b(?:1 memory|[\d,]+ memories) from .*", re.DOTALL)
_QUERIES = statements("about")


Asked = Callable[[SQL, Mapping[str, object]], Iterable[DictRow]]
"""Runs a statement: ``execute`` of a transaction with claims, or ``Database.ask`` with them."""


class Described(NamedTuple):
    """A person: the node, None for somebody without one, and all names."""

    node_id: UUID | None
    names: Sequence[str]


class Clause(NamedTuple):
    """A description of a person, and where it was said; ``record_id`` is None for a statement by hand."""

    text: str
    record_id: UUID | None
    message: int | None
    fact_id: UUID | None = None


class _Relation(NamedTuple):
    node_id: UUID
    relation: str
    of_name: str
    of_kind: ConceptKind
    record_id: UUID | None
    message: int | None


class _Told(NamedTuple):
    place: int
    statement: str
    subject: str
    predicate: str
    object: str
    since: datetime | None
    record_id: UUID
    message: int
    fact_id: UUID


def clauses_of(ask: Asked, user_id: UUID, people: Sequence[Described]) -> list[list[Clause]]:
    """Return the descriptions of each of some people that the caller sees: relations first, then facts.

    Args:
        ask: Runs a statement with claims.
        user_id: The owner of the graph.
    """
    names = [(place, name.lower()) for place, one in enumerate(people) for name in one.names]
    places, lowered = zip(*names, strict=True) if names else ((), ())
    values = {"places": list(places), "names": list(lowered), "predicates": list(_TOLD), "user_id": user_id}
    told = typed(ask(_QUERIES["told_of"], values), _Told) if names else []
    related = _related(ask, [one.node_id for one in people if one.node_id is not None])
    return [
        _together(related.get(one.node_id, []), [fact for fact in told if fact.place == place])
        for place, one in enumerate(people)
    ]


def _together(related: list[Clause], told: Sequence[_Told]) -> list[Clause]:
    known = {one.text.casefold() for one in related}
    return related + [one for one in _worded(told) if one.text.casefold() not in known][:MOST_TOLD]


def sentence_of(name: str, clauses: Sequence[Clause]) -> str:
    """Return descriptions of a person as a sentence: ``Dave: brother-in-law, production lead since March 2025``."""
    return f"{name}: {', '.join(one.text for one in clauses)}." if clauses else ""


def definition_in(summary: str | None) -> str:
    """Return the definition in a node's summary, without the part that is derived from its records."""
    return _GROWTH.sub("", summary or "").strip()


def _related(ask: Asked, node_ids: Sequence[UUID]) -> dict[UUID | None, list[Clause]]:
    if not node_ids:
        return {}
    values = {"node_ids": node_ids, "uninformative": list(UNINFORMATIVE_LABELS)}
    found: dict[UUID | None, dict[str, Clause]] = {}
    for one in typed(ask(_QUERIES["relations_of_nodes"], values), _Relation):
        text = f"{one.of_name}'s {one.relation}" if one.of_kind == ConceptKind.PERSON else one.relation
        found.setdefault(one.node_id, {}).setdefault(text.casefold(), Clause(text, one.record_id, one.message))
    return {node_id: list(clauses.values())[:MOST_RELATIONS] for node_id, clauses in found.items()}


def _worded(told: Sequence[_Told]) -> Iterator[Clause]:
    """Yield all roles towards somebody, and the last value of each slot."""
    last: dict[tuple[str, str], _Told] = {}
    for one in told:
        slot = _TOLD[one.predicate][0]
        role = one.object.casefold() if slot == "what" and _TO_SOMEBODY.fullmatch(one.object) else ""
        last.setdefault((slot, role), one)
    for _, one in sorted(last.items(), key=lambda item: (not item[0][1], _SLOTS.index(item[0][0]))):
        if _NO_LONGER.search(_verb_of(one)):
            continue
        text = _TOLD[one.predicate][1].format(_ARTICLE.sub("", one.object))
        since = f" since {one.since:%B %Y}" if one.since and _BEGINS.search(one.statement) else ""
        yield Clause(text + since, one.record_id, one.message, one.fact_id)


def _verb_of(one: _Told) -> str:
    """Return the words of a fact between its subject and its object."""
    return one.statement.partition(one.subject)[2].partition(one.object)[0]
