"""Whether the sensors have work: one cheap question that the daemon asks between their ticks."""

from __future__ import annotations

from dataclasses import dataclass

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context

_QUERIES = statements("triggers")


@dataclass(frozen=True, slots=True)
class Work:
    """What the sensors have to do.

    Attributes:
        arrived: Something is to be detected, leased or read: it ended, grew long, is due again, or its worker died.
        under_way: Leases are open, whose runs the sensors look after.
    """

    arrived: bool
    under_way: bool


def work(context: Context) -> Work:
    """Return whether the sensors have work."""
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["work"], {"least_tokens": context.settings.ingestion.chunk_watch_tokens}).fetchone()
    assert row is not None
    return Work(row["arrived"], row["under_way"])
