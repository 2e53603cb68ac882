"""People who may have two nodes: merging them is proposed to the owner, and never done by itself.

Two names may be those of one person if they differ only in accents, punctuation and spaces, or if one is the first name
of the only other person who has it, and both are related to the same node. Names that differ in a digit are two.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.kinds import ActionKind

MAX_PROPOSED = 20
"""Most merges that one run proposes to a user."""

_MOST_ALIKE = 10
"""Most nodes of one name that are compared with each other."""

_QUERIES = statements("actions")


@dataclass(frozen=True, slots=True)
class Person:
    """The node of a person: its names, the nodes that it is related to, and its number of records."""

    node_id: UUID
    names: tuple[str, ...]
    related: frozenset[UUID]
    records: int


@dataclass(frozen=True, slots=True)
class Double:
    """A node that may be the same person as another one, into which it would be merged."""

    node_id: UUID
    into_id: UUID
    reason: str


def likely_doubles(people: Sequence[Person]) -> list[Double]:
    """Return pairs of nodes that may be the same person; the one with fewer records or the shorter name comes first."""
    found: dict[frozenset[UUID], Double] = {}
    for one in (*_of_one_spelling(people), *_of_first_names(people)):
        found.setdefault(frozenset((one.node_id, one.into_id)), one)
    return list(found.values())


def propose_merges(database: Database, user_id: UUID | None = None) -> int:
    """Propose to merge the nodes that may be one person, and return how many proposals are new.

    A decided doubt is not asked again.

    Args:
        database: Used as the pipeline.
        user_id: Only this user's nodes; None for all users.
    """
    with database.pipeline() as tx:
        users = [row["user_id"] for row in tx.execute(_QUERIES["users_with_people"], {"user_id": user_id})]
    created = 0
    for each in users:
        with database.pipeline() as tx:
            rows = tx.execute(_QUERIES["people"], {"user_id": each}).fetchall()
            people = [
                Person(row["node_id"], (row["node_name"], *row["aliases"]), frozenset(row["related"]), row["records"])
                for row in rows
            ]
            for one in likely_doubles(people)[:MAX_PROPOSED]:
                doubt = Doubt(
                    ActionKind.MERGE_NODES, each, one.reason, "people", node_id=one.node_id, other_node_id=one.into_id
                )
                try:
                    created += propose(tx, doubt).created
                except NotFoundError:
                    continue  # removed meanwhile
    return created


def _of_one_spelling(people: Sequence[Person]) -> Iterator[Double]:
    spelled: dict[str, list[Person]] = defaultdict(list)
    for person in people:
        for name in {_spelling(name) for name in person.names}:
            spelled[name].append(person)
    for alike in spelled.values():
        for one, other in combinations(alike[:_MOST_ALIKE], 2):
            yield _double(one, other, "same_spelling")


def _of_first_names(people: Sequence[Person]) -> Iterator[Double]:
    full: dict[str, list[Person]] = defaultdict(list)
    for person in people:
        for name in {_spelling(word[0]) for word in _words(person) if len(word) > 1}:
            full[name].append(person)
    for person in people:
        words = _words(person)
        bearers = full.get(_spelling(words[0][0]), []) if words and all(len(word) == 1 for word in words) else []
        if len(bearers) == 1 and bearers[0].related & person.related:
            yield Double(person.node_id, bearers[0].node_id, "same_first_name")


def _double(one: Person, other: Person, reason: str) -> Double:
    lesser, greater = sorted((one, other), key=lambda person: (person.records, str(person.node_id)))
    return Double(lesser.node_id, greater.node_id, reason)


def _words(person: Person) -> list[list[str]]:
    return [words for name in person.names if (words := name_key(name).split())]


def _spelling(name: str) -> str:
    """Return a name without accents, punctuation, spaces and case."""
    return "".join(_letters(unicodedata.normalize("NFKD", name_key(name)))) or name


def _letters(characters: Iterable[str]) -> Iterator[str]:
    return (one for one in characters if one.isalnum())
