"""Facts of corrected words: a user's new words in a summary supersede the facts that still say the old ones."""

from __future__ import annotations

from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.replacing import write_superseding
from neurigraph_pipelines.knowledge.undoing import reject
from neurigraph_pipelines.knowledge.writing import forgotten_statements
from neurigraph_pipelines.model.facts import MAX_STATEMENT
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.corrections import correction_of, corrections_of
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.views.kinds import Effect
from neurigraph_pipelines.views.scalars import Row

CORRECTED = "correction"
"""What stands for the language model of a fact that a correction states."""

_CORRECTIONS = statements("corrections")
_FACTS = statements("facts")
_VERDICTS = statements("verdicts")


def supersede_corrected(tx: Transaction, user_id: UUID, record_id: UUID, lexer: Lexer) -> None:
    """Let the corrections of a record supersede its facts; a decision about two facts that is there stands.

    Args:
        tx: A transaction that has locked the user's facts.
        user_id: The user.
        record_id: The record.
        lexer: Splits summaries and statements into words.
    """
    for revised in tx.execute(_CORRECTIONS["revised_summaries"], {"record_id": record_id}).fetchall():
        corrections = corrections_of(revised["before"], revised["after"], lexer)
        forgotten = forgotten_statements(tx, record_id) if corrections else frozenset()
        for fact in (
            tx.execute(_CORRECTIONS["newest_versions"], {"record_id": record_id}).fetchall() if corrections else ()
        ):
            correction = correction_of(fact["statement"], corrections, lexer)
            if correction is None or statement_key(statement := correction.text[:MAX_STATEMENT]) in forgotten:
                continue
            later_id, earlier_id = uuid5(record_id, statement), fact["fact_id"]
            judged = tx.execute(_VERDICTS["judged_pairs"], {"fact_ids": [earlier_id], "again": False}).fetchall()
            if later_id != earlier_id and not any(later_id in row.values() for row in judged):
                filled = {**fact["slot"], "object": value} if (value := _value(fact, statement)) else {}
                _state(tx, user_id, record_id, later_id, {**fact["kept"], **filled, "statement": statement})
                write_superseding(tx, user_id, earlier_id, later_id, revised["authored_by"], "a person corrected it")
                _end_doubts(tx, user_id, earlier_id, revised["authored_by"])
                tx.execute(_VERDICTS["insert_pending"], {"record_ids": [record_id]})  # compares the new fact


def _value(fact: Row, statement: str) -> str | None:
    """Return the value that a correction has in the place of the old one; None if it changed other words."""
    before, old, after = fact["statement"].partition(fact["object"] or "\0")
    said = statement.replace(" now ", " ")
    is_other = not old or not (said.startswith(before) and said.endswith(after))
    return None if is_other else said[len(before) : len(said) - len(after)].strip() or None


def _end_doubts(tx: Transaction, user_id: UUID, fact_id: UUID, author: str) -> None:
    """Take back verdicts on a corrected fact that wait for a person: nobody has to decide about old words."""
    about = {"user_id": user_id, "fact_id": fact_id, "other_id": None}
    for row in tx.execute(_VERDICTS["decided"], about).fetchall():
        if row["effect"] == Effect.FLAGGED:
            reject(tx, user_id, row["later_id"], row["earlier_id"], author)


def _state(tx: Transaction, user_id: UUID, record_id: UUID, fact_id: UUID, fact: JsonObject) -> None:
    """Write the fact of a correction, unless the record has it."""
    known = tx.execute(_FACTS["known_facts"], {"record_id": record_id}).fetchall()
    if any(row["fact_id"] == fact_id for row in known):
        return
    key = statement_key(str(fact["statement"]))
    row = {**fact, "fact_id": str(fact_id), "seq": 1 + max(row["seq"] for row in known), "statement_key": key}
    values = {"record_id": record_id, "user_id": user_id, "extractor": CORRECTED, "facts": Jsonb([row])}
    tx.execute(_FACTS["write_facts"], values)
