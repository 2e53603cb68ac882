"""The upkeep of the queue of actions: expired ones, approved ones not carried out, and overdue ones."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context

LATE_SECONDS = 3_600.0
"""Time after its approval from which it counts as a fault that an action was not carried out."""

_QUERIES = statements("actions")


@dataclass(frozen=True, slots=True)
class OpenActions:
    """Counts of open actions.

    Attributes:
        overdue: Those that have waited longer than the setting ``action_overdue_hours`` says.
        unreported: Those of them that nobody has heard of yet.
    """

    waiting: int
    overdue: int
    unreported: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class UpkeepCounts:
    """The counts of one round of upkeep."""

    expired: int
    executed: int


def has_work(context: Context) -> bool:
    """Return whether there is something to do; costs two index lookups."""
    with context.database.pipeline() as tx:
        return value_of(bool, tx.execute(_QUERIES["has_work"], _overdue(context)))


def keep(context: Context) -> UpkeepCounts:
    """End expired actions with the texts that waited for them, and carry out approved ones whose process died."""
    from neurigraph_pipelines.knowledge.deciding.execution import carry_out  # slow: not needed to load definitions

    with context.database.owner() as tx:
        expired = tx.execute(_QUERIES["expire"]).fetchall()
        held = [row["source_id"] for row in expired if row["source_id"] is not None]
        tx.execute(_QUERIES["drop_held"], {"source_ids": held})
        tx.execute(_QUERIES["propose_held"])
    return UpkeepCounts(len(expired), carry_out(context))


def waiting(context: Context) -> OpenActions:
    """Count the actions that wait for a decision."""
    with context.database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["waiting"], _overdue(context))
    return OpenActions(**row)


def report(queue: OpenActions) -> dict[str, object]:
    """Return the report of actions that have waited too long: counts, and no text of users."""
    return {"event": "actions_waiting", "waiting": queue.waiting, "overdue": queue.overdue}


def note_report(context: Context) -> None:
    """Note that actions that have waited too long were reported, so that each is reported once."""
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["note_report"], _overdue(context))


def find_not_carried_out(context: Context) -> list[UUID]:
    """Return the actions that were approved an hour ago and still are neither carried out nor failed."""
    with context.database.pipeline() as tx:
        rows = tx.execute(_QUERIES["not_carried_out"], {"seconds": LATE_SECONDS}).fetchall()
    return [row["action_id"] for row in rows]


def _overdue(context: Context) -> dict[str, float]:
    return {"seconds": context.settings.lifecycle.action_overdue_hours * 3_600.0}
