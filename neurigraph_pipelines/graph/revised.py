"""What a revision of a record's keywords changes in the graph: its mentions of nodes, and the edges that it states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.witnesses import Witness, named, write_mentions
from neurigraph_pipelines.model import Detector, MentionRole
from neurigraph_pipelines.model.ports import Transaction

STATED_WEIGHT = 0.8
"""The weight of a relation that somebody adds to a record."""

_QUERIES = statements("evidence")
_RELATIONSHIP = re.compile(r"(?P<label>[^:]{1,60}): (?P<name>.+)")
_HOLDER = re.compile(r"^.*['’]s? ")


def carry_revision(
    tx: Transaction, user_id: UUID, record_id: UUID, before: Mapping[str, Any], after: Mapping[str, Any], author: str
) -> None:
    """Let mentions and evidence of a record follow its new entities and relationships.

    Args:
        tx: A transaction that has locked the record's words.
        user_id: The user.
        record_id: The record.
        before: Its columns as they were.
        after: The columns that change.
        author: The author of the change.
    """
    detector = Detector.PERSON if author.split(":")[0] in ("user", "persona") else Detector.MODEL
    witness = Witness(record_id, detector, lambda _: "{}")
    values = {"user_id": user_id, "record_id": record_id, "detected_by": detector.value, "weight": STATED_WEIGHT}
    gone, new = _difference(before, after, "kw_relationships")
    for label, name in map(_stated, gone):
        labels = [label, _HOLDER.sub("", label)]
        tx.execute(_QUERIES["retract_relation"], {**values, "labels": labels, "name_key": name_key(name)})
    for label, name in map(_stated, new):
        # A relation of somebody else, such as "Ana's sister: Eve", does not begin at the record's node.
        if label and not _HOLDER.match(label):
            tx.execute(_QUERIES["state_relation"], {**values, "relation": label, "name_key": name_key(name)})
    gone, new = _difference(before, after, "kw_entities")
    if gone:
        tx.execute(_QUERIES["retract_mentions"], {**values, "name_keys": [name_key(name) for name in gone]})
    write_mentions(tx, user_id, named(witness, new, MentionRole.MENTION))


def _difference(
    before: Mapping[str, Any], after: Mapping[str, Any], column: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the values of a column that go, and those that come."""
    if column not in after:
        return (), ()
    old = {name_key(word): word for word in before[column] or ()}
    new = {name_key(word): word for word in after[column] or ()}
    return [old[key] for key in old.keys() - new.keys()], [new[key] for key in new.keys() - old.keys()]


def _stated(relationship: str) -> tuple[str, str]:
    match = _RELATIONSHIP.fullmatch(relationship)
    return (match["label"], match["name"]) if match else ("", "")
