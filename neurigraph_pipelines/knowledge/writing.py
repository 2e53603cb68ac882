"""Writing the facts of one record: facts that a model read, or the fact that a note states.

What people decided about a fact stays when its record is read again, and so does a fact that they decided about.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4, uuid5

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.lifecycle.note_memories import settle_memories
from neurigraph_pipelines.model import Message
from neurigraph_pipelines.model.facts import MAX_STATEMENT, ReadFact
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.statement_key import statement_key

AUTHOR = "pipeline:facts"
MAX_WHO = 20

_QUERIES = statements("facts")
_READING = statements("fact_reading")


@dataclass(frozen=True, slots=True)
class StatedInNote:
    """A fact that a note states.

    Attributes:
        message: The message that is its statement.
        values: Its fields, as ``state_fact`` takes them.
        follows: The fact that it is the next version of.
    """

    message: int
    values: JsonObject
    follows: UUID | None


def fact_id_of(note_id: UUID, message: int) -> UUID:
    """Return the id of the fact that a version of a note states."""
    return uuid5(note_id, f"fact {message}")


def stated_by(tx: Transaction, record_id: UUID, message: Message) -> StatedInNote | None:
    """Return the fact that a record's note states; None if the record is to be read."""
    row = tx.execute(_QUERIES["stated_fact"], {"record_id": record_id, "message": message.seq}).fetchone()
    if row is None:
        return None
    statement = " ".join(message.content.split())[:MAX_STATEMENT]
    said = {
        "fact_id": str(fact_id_of(row["source_id"], row["message"])),
        "author": message.author,
        "statement": statement,
        "statement_key": statement_key(statement),
    }
    return StatedInNote(message.seq, {**row["fact"], **said}, row["follows"])


def write_stated(tx: Transaction, record_id: UUID, user_id: UUID, stated: StatedInNote) -> None:
    """Write the fact of a note, unless it exists: it never changes. It follows the newest version of its chain."""
    of_record = {"record_id": record_id}
    if tx.execute(_QUERIES["known_facts"], of_record).fetchone() is not None:
        return
    chain = None
    if stated.follows is not None:
        chain = tx.execute(_QUERIES["lock_chain"], {"follows": stated.follows, "user_id": user_id}).fetchone()
    values = {
        **of_record,
        "user_id": user_id,
        "root_id": chain["root_id"] if chain is not None else None,
        "version": chain["version"] + 1 if chain is not None else 1,
        "message": stated.message,
        "fact": Jsonb(stated.values),
    }
    tx.execute(_QUERIES["state_fact"], values)
    if chain is not None:
        authored(tx, AUTHOR)
        settle_memories(tx, UUID(str(stated.values["fact_id"])))
    _retract_said_before(tx, record_id)


def forgotten_statements(tx: Transaction, record_id: UUID) -> set[int]:
    """Return the keys of the statements of a record that were forgotten alone."""
    return {row["statement_key"] for row in tx.execute(_QUERIES["forgotten_statements"], {"record_id": record_id})}


def write_read(tx: Transaction, record_id: UUID, user_id: UUID, extractor: str, facts: Sequence[ReadFact]) -> int:
    """Replace the facts of a record by newly read ones, and return their number.

    A statement that the record has already keeps its id. Statements that were forgotten stay so.
    """
    of_record = {"record_id": record_id}
    forgotten = forgotten_statements(tx, record_id)
    known = tx.execute(_QUERIES["known_facts"], of_record).fetchall()
    ids = {row["statement"]: row["fact_id"] for row in known}
    left = [fact for fact in facts if statement_key(fact.statement) not in forgotten]
    derived = [uuid5(record_id, fact.statement) for fact in left if fact.statement not in ids]
    taken = {row["fact_id"] for row in tx.execute(_QUERIES["taken_ids"], {**of_record, "fact_ids": derived})}
    new = (one if one not in taken else uuid4() for one in derived)
    rows = [_row(ids[fact.statement] if fact.statement in ids else next(new), fact) for fact in left]
    found = {row["statement"] for row in rows}
    kept = [row["fact_id"] for row in known if row["is_kept"] and row["statement"] not in found]
    again = [row["fact_id"] for row in known if row["statement"] in found]
    tx.execute(_QUERIES["delete_facts"], {**of_record, "kept": kept + again})
    numbers = list(range(len(rows) + 1, len(rows) + len(kept) + 1))
    tx.execute(_QUERIES["renumber_facts"], {"fact_ids": kept, "seqs": numbers})
    numbered = [{**row, "seq": number} for number, row in enumerate(rows, start=1)]
    values = {**of_record, "user_id": user_id, "extractor": extractor, "facts": Jsonb(numbered)}
    tx.execute(_QUERIES["write_facts"], values)
    _retract_said_before(tx, record_id)
    return len(rows)


def _retract_said_before(tx: Transaction, record_id: UUID) -> None:
    """Archive facts that somebody took back after they were said, but before they were read."""
    authored(tx, AUTHOR)
    for row in tx.execute(_READING["retract_said_before"], {"record_id": record_id}).fetchall():
        settle_memories(tx, row["fact_id"])


def _row(fact_id: UUID, fact: ReadFact) -> JsonObject:
    """Return a fact as ``write_facts`` takes it, without its number."""
    slot, occurred = fact.slot, fact.occurred
    shown = {
        "fact_id": fact_id,
        "first_message": fact.first_message,
        "last_message": fact.last_message,
        "author": fact.author,
        "statement": fact.statement,
        "statement_key": statement_key(fact.statement),
        "kind": fact.kind,
        "stated_as": fact.stated_as,
        "who": fact.who[:MAX_WHO],
        "where_context": fact.where,
        "why": fact.why,
        "how": fact.how,
        "subject": slot.subject if slot else None,
        "predicate": slot.predicate if slot else None,
        "object": slot.object if slot else None,
        "occurred_from": occurred.starts_at if occurred else None,
        "occurred_until": occurred.ends_at if occurred else None,
        "expires_at": fact.expires_at,
        "confidence": fact.confidence,
        "importance": fact.importance,
        "impact": fact.impact,
    }
    row: JsonObject = json.loads(json.dumps(shown, default=str))
    return row
