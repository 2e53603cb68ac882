"""The upkeep of the queue: what expired, what was approved and not carried out, and what has waited too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.deciding.execution import carry_out
from neurigraph_pipelines.statements import statements

OVERDUE_SECONDS = 4 * 3600.0
"""Waiting time from which an action is reported."""

_OVERDUE = {"seconds": OVERDUE_SECONDS}
_QUERIES = statements("actions")


@dataclass(frozen=True, slots=True)
class Queue:
    """Counts of open actions.

    Attributes:
        overdue: Those that have waited longer than ``OVERDUE_SECONDS``.
        untold: Those of them that nobody was told of.
    """

    waiting: int
    overdue: int
    untold: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What one round of upkeep did."""

    expired: int
    executed: int


def has_work(context: Context) -> bool:
    """Return whether there is something to do; costs two index lookups."""
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["has_work"], _OVERDUE).fetchone()
    assert row is not None
    return bool(row["due"])


def keep(context: Context) -> Kept:
    """End what expired, with the text that waited for it, and carry out what was approved when its process died."""
    with context.database.owner() as tx:
        expired = tx.execute(_QUERIES["expire"]).fetchall()
        held = [row["source_id"] for row in expired if row["source_id"] is not None]
        tx.execute(_QUERIES["drop_held"], {"source_ids": held})
        tx.execute(_QUERIES["propose_held"])
    return Kept(len(expired), carry_out(context))


def waiting(context: Context) -> Queue:
    """Count what waits for a decision."""
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["waiting"], _OVERDUE).fetchone()
    assert row is not None
    return Queue(**row)


def report(queue: Queue) -> dict[str, Any]:
    """Return the report of what has waited too long: counts, and no text of users."""
    return {"event": "actions_waiting", "waiting": queue.waiting, "overdue": queue.overdue}


def told(context: Context) -> None:
    """Note that somebody was told of what has waited too long, so that nobody is told again."""
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["told"], _OVERDUE)
