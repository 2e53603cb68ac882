"""Records as evidence: which nodes a record speaks of, in which role and in which messages.

``edges`` writes the relations that a record states, ``candidates`` what may become a node, ``aliases`` other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import Detector, MentionRole, Message
from neurigraph_pipelines.model.ports import Transaction

MAX_MESSAGES = 32
"""Most messages that a mention names: the first ones."""

MAX_NAMES = 64
"""Most names of one record that are looked up."""

_QUERIES = statements("evidence")


@dataclass(frozen=True, slots=True)
class Witness:
    """A stored record that speaks of nodes.

    Attributes:
        detected_by: What read the record.
        messages_with: Returns the numbers of the messages that say a name.
    """

    record_id: UUID
    detected_by: Detector
    messages_with: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Said:
    """A mention: a record speaks of a node, given by id or by a name that only one node has."""

    witness: Witness
    node_id: UUID | None = None
    name: str | None = None
    role: MentionRole = MentionRole.MENTION
    messages: str = "{}"
    confidence: float = 1.0


def messages_with(messages: Sequence[Message]) -> Callable[[str], str]:
    """Return a function that finds the messages that say a name, as a Postgres array of their numbers."""
    texts = [(message.seq, (message.author or "").lower(), message.content.lower()) for message in messages]
    found: dict[str, str] = {}

    def with_name(name: str) -> str:
        if name not in found:
            wanted = name.lower()
            numbers = (seq for seq, author, text in texts if wanted and (author == wanted or _says(text, wanted)))
            first = [str(seq) for _, seq in zip(range(MAX_MESSAGES), numbers, strict=False)]
            found[name] = f"{{{','.join(first)}}}"
        return found[name]

    return with_name


def _says(text: str, name: str) -> bool:
    """Return whether a name stands in a text as a whole word."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(name, end)
    return False


def named(witness: Witness, names: Iterable[str], role: MentionRole) -> list[Said]:
    """Return that a record says some names, each once."""
    distinct = {name_key(name): name for name in names if name_key(name)}
    return [
        Said(witness, name=name, role=role, messages=witness.messages_with(name), confidence=0.9)
        for name in list(distinct.values())[:MAX_NAMES]
    ]


def write_mentions(tx: Transaction, user_id: UUID, said: Sequence[Said]) -> None:
    """Insert the mentions of nodes in records. A name that no node has, or that several have, is skipped."""
    if not said:
        return
    rows = [
        {
            "record_id": one.witness.record_id,
            "detected_by": one.witness.detected_by.value,
            "node_id": one.node_id,
            "name_key": name_key(one.name) if one.name is not None else None,
            "role": one.role.value,
            "messages": one.messages,
            "confidence": one.confidence,
        }
        for one in said
    ]
    tx.execute(_QUERIES["mention_nodes"], {"user_id": user_id, **as_columns(rows)})


def define_nodes(tx: Transaction, record_id: UUID, node_ids: Sequence[UUID]) -> None:
    """Note which record new nodes were made for: their definitions go with it."""
    if node_ids:
        tx.execute(_QUERIES["define_nodes"], {"record_id": record_id, "node_ids": list(node_ids)})


@dataclass(frozen=True, slots=True)
class Followers:
    """The nodes whose shells follow from some records.

    Attributes:
        defined: Those of them that were made for one of the records.
    """

    node_ids: frozenset[UUID]
    defined: frozenset[UUID] = frozenset()

    def with_nodes(self, node_ids: Iterable[UUID]) -> Followers:
        """Return these followers with further nodes."""
        return replace(self, node_ids=self.node_ids.union(node_ids))

    def without(self, node_ids: Iterable[UUID]) -> Followers:
        """Return these followers without nodes that are gone."""
        gone = frozenset(node_ids)
        return Followers(self.node_ids - gone, self.defined - gone)


def followers_of(tx: Transaction, record_ids: Sequence[UUID]) -> Followers:
    """Return the nodes whose shells follow from records. Ask before the records are erased."""
    rows = tx.execute(_QUERIES["follow_records"], {"record_ids": list(record_ids)}).fetchall()
    return Followers(
        frozenset(row["node_id"] for row in rows), frozenset(row["node_id"] for row in rows if row["defined"])
    )


def as_columns(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Return rows of equal names as one list for each name, to send them in one statement."""
    return {name: [row[name] for row in rows] for name in rows[0]}
