"""Facts that a model has read in a window of a record, kept until the facts of the whole record are written."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.search import Period

PERIOD = {"Period": Period}
"""The type that ``model.facts`` imports for checkers alone, for adapters of its classes."""

_FACTS = TypeAdapter(list[ReadFact])
_FACTS.rebuild(_types_namespace=PERIOD)
_QUERIES = statements("fact_reading")


def read_windows(tx: Transaction, record_id: UUID) -> dict[bytes, list[ReadFact]]:
    """Return the facts of the windows of a waiting record, by digest."""
    rows = tx.execute(_QUERIES["read_windows"], {"record_id": record_id}).fetchall()
    return {bytes(row["digest"]): _FACTS.validate_python(row["facts"]) for row in rows}


def keep_window(tx: Transaction, record_id: UUID, attempts: int, digest: bytes, facts: Sequence[ReadFact]) -> None:
    """Keep the facts of a window, if its record waits, and has been leased so many times."""
    kept = {"window_digest": digest, "facts": Jsonb(_FACTS.dump_python(list(facts), mode="json"))}
    tx.execute(_QUERIES["keep_window"], {"record_id": record_id, "attempts": attempts, **kept})
