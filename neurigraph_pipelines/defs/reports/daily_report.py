"""The report of a day: counts of stored and waiting things in the whole installation, and no text.

``figures`` has the counts that metrics show; this module adds those of a day and of the queues.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.defs.shared.backfills import FIRST_DAY
from neurigraph_pipelines.ingestion import healing
from neurigraph_pipelines.knowledge import reading, reconciling
from neurigraph_pipelines.knowledge.deciding import upkeep
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database

_QUERIES = statements("reports")


@dataclass(frozen=True, slots=True)
class WaitingSegments:
    """Segments that wait, are leased by runs, or failed for good, and the age of the oldest that is due."""

    waiting: int
    leased: int
    failed: int
    age_seconds: float


@dataclass(frozen=True, slots=True)
class Stored:
    """The counts of a period.

    Attributes:
        restated: Those of its facts that say what an earlier fact of the same user says.
    """

    segments: int
    tokens: int
    records: int
    facts: int
    restated: int


@dataclass(frozen=True, slots=True)
class StoredDay:
    """Memories that were stored on a day, the nodes that they are in, and those of them that wait for vectors."""

    records: int = 0
    nodes: int = 0
    without_vectors: int = 0

    def numbers(self) -> dict[str, int]:
        """Return the figures by name."""
        return {
            "records of the day": self.records,
            "nodes of the day": self.nodes,
            "records of the day without vectors": self.without_vectors,
        }


@dataclass(frozen=True, slots=True)
class DailyReport:
    """The counts of a day, and of the segments that wait at the moment of the report.

    Attributes:
        awake_bytes: As of the last `storage_report`; None before the first, and so is ``asleep_bytes``.
    """

    stored: Stored
    backlog: WaitingSegments
    without_vectors: int
    without_facts: int
    without_verdicts: int
    actions_open: int
    awake_bytes: int | None
    asleep_bytes: int | None

    def numbers(self) -> dict[str, int | float]:
        """Return the known figures by name; a name includes the unit."""
        found = {
            "segments stored": self.stored.segments,
            "tokens stored": self.stored.tokens,
            "records stored": self.stored.records,
            "facts found": self.stored.facts,
            "facts that repeat an earlier one": self.stored.restated,
            "segments waiting": self.backlog.waiting + self.backlog.leased,
            "oldest segment waits for seconds": round(self.backlog.age_seconds, 1),
            "failures that wait for a person": self.backlog.failed,
            "records without vectors": self.without_vectors,
            "records not read for facts": self.without_facts,
            "records without verdicts": self.without_verdicts,
            "actions open": self.actions_open,
            "bytes awake": self.awake_bytes,
            "bytes asleep": self.asleep_bytes,
        }
        return {name: value for name, value in found.items() if value is not None}


def backlog(database: Database) -> WaitingSegments:
    """Count the segments that wait to be stored; costs a few index lookups."""
    with database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["backlog"])
    return WaitingSegments(**row)


def late_bodies(context: Context, grace_seconds: float) -> int:
    """Count the stored segments whose messages should have left the inbox before the grace period."""
    kept_seconds = context.settings.ingestion.inbox_retention_days * 86_400
    with context.database.pipeline() as tx:
        return value_of(int, tx.execute(_QUERIES["late_bodies"], {"age_seconds": kept_seconds + grace_seconds}))


def stored_days(database: Database, since: datetime | None, until: datetime | None = None) -> dict[str, StoredDay]:
    """Count the stored memories of each day (UTC) of a period, and leave out days without any.

    Args:
        database: Of the installation.
        since: The period's first moment; None for the beginning.
        until: The first moment after it; None for no end.
    """
    values = {"since": since, "until": until, "first_day": FIRST_DAY}
    with database.pipeline() as tx:
        found = tx.execute(_QUERIES["stored_days"], values).fetchall()
    return {row.pop("day").isoformat(): StoredDay(**row) for row in found}


def report_day(context: Context, since: datetime, until: datetime) -> DailyReport:
    """Return the report of a day.

    Args:
        context: Used as the pipeline.
        since: The day's first moment.
        until: The first moment after it.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["period"], {"since": since, "until": until}).fetchone()
        sizes = {one["state"]: int(one["total"]) for one in tx.execute(_QUERIES["bytes"])}
    assert row is not None
    return DailyReport(
        Stored(**row),
        backlog(context.database),
        healing.waiting(context).records,
        reading.waiting(context).records,
        reconciling.waiting(context),
        upkeep.waiting(context).waiting,
        sizes.get("active"),
        sizes.get("dormant"),
    )


def as_markdown(day: str, report: DailyReport) -> str:
    """Return a report as a table in Markdown."""
    rows = [f"| {name} | {value:,} |" for name, value in report.numbers().items()]
    return "\n".join([f"## {day}", "", "| figure | value |", "| --- | ---: |", *rows])
