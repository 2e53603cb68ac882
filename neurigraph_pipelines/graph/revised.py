"""Changes of the graph by a revision of a record's keywords: its mentions of nodes, and the edges that it states."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import row_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.witnesses import Witness, named, write_mentions
from neurigraph_pipelines.model import Detector, MentionRole
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.scalars import ValuesByName

if TYPE_CHECKING:
    from pgvector import Vector

STATED_WEIGHT = 0.8
"""The weight of a relation that somebody adds to a record."""

_QUERIES = statements("evidence")
_HISTORY = statements("history")
_RELATIONSHIP = re.compile(r"(?P<label>[^:]{1,60}): (?P<name>.+)")
_HOLDER = re.compile(r"^.*['’]s? ")


class StoredWords(NamedTuple):
    """The words of a record, and its vectors."""

    title: str
    summary: str
    kw_entities: list[str] | None
    kw_topics: list[str] | None
    kw_dates: list[str] | None
    kw_relationships: list[str] | None
    embedding: Vector
    embedding_pending: bool
    embedding_model: str | None
    embedding_next: Vector | None
    embedding_next_model: str | None

    def have(self, words: ValuesByName) -> bool:
        """Return whether these are the words already."""
        return words.items() <= self._asdict().items()


def lock_words(tx: Transaction, schema: sql.Identifier, record_id: UUID) -> StoredWords | None:
    """Return the words of a record, which are locked until the transaction ends; None if it is gone."""
    return row_of(tx, _HISTORY["lock_words"].format(schema=schema), StoredWords, {"record_id": record_id})


def carry_revision(
    tx: Transaction, user_id: UUID, record_id: UUID, before: StoredWords, after: ValuesByName, author: str
) -> None:
    """Let mentions and evidence of a record follow its new entities and relationships.

    Args:
        tx: A transaction that has locked the record's words.
        user_id: The user.
        record_id: The record.
        before: Its words as they were.
        after: Those that change.
        author: The author of the change.
    """
    detector = Detector.PERSON if author.split(":")[0] in ("user", "persona") else Detector.MODEL
    witness = Witness(record_id, detector, lambda _: "{}")
    values = {"user_id": user_id, "record_id": record_id, "detected_by": detector.value, "weight": STATED_WEIGHT}
    gone, new = _difference(before.kw_relationships, after.get("kw_relationships", before.kw_relationships))
    for label, name in map(_stated, gone):
        labels = [label, _HOLDER.sub("", label)]
        tx.execute(_QUERIES["retract_relation"], {**values, "labels": labels, "name_key": name_key(name)})
    for label, name in map(_stated, new):
        # A relation of somebody else, such as "Ana's sister: Eve", does not begin at the record's node.
        if label and not _HOLDER.match(label):
            tx.execute(_QUERIES["state_relation"], {**values, "relation": label, "name_key": name_key(name)})
    gone, new = _difference(before.kw_entities, after.get("kw_entities", before.kw_entities))
    if gone:
        tx.execute(_QUERIES["retract_mentions"], {**values, "name_keys": [name_key(name) for name in gone]})
    write_mentions(tx, user_id, named(witness, new, MentionRole.MENTION))


def _difference(before: Sequence[str] | None, after: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the values that go, and those that come."""
    old = {name_key(word): word for word in before or ()}
    new = {name_key(word): word for word in after or ()}
    return [old[key] for key in old.keys() - new.keys()], [new[key] for key in new.keys() - old.keys()]


def _stated(relationship: str) -> tuple[str, str]:
    match = _RELATIONSHIP.fullmatch(relationship)
    return (match["label"], match["name"]) if match else ("", "")
