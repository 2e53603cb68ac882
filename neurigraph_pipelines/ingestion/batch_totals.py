"""Adds the counts of a batch to the totals of the pipeline, which metrics show.

What is stored, tried again or given up is counted in its own transaction, so a batch that dies afterwards has counted
it. The times of its steps are added at its end, and one that dies adds none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from neurigraph_pipelines.database.totals import add_totals, count
from neurigraph_pipelines.ingestion.records import (
    Assigned,
    BatchResult,
    Committed,
    Described,
    Embedded,
    Summarized,
)
from neurigraph_pipelines.model import SegmentRef
from neurigraph_pipelines.model.ports import Database, Transaction


def count_stored(tx: Transaction, stored: Iterable[tuple[SegmentRef, Sequence[Committed]]]) -> None:
    """Count segments with their new records, at the end of the transaction that stores them."""
    totals: Counter[tuple[str, str]] = Counter()
    for ref, committed in stored:
        new = [record for record in committed if not record.already_stored]
        if new:
            kind = ref.source_kind.value
            totals["stored_segments", kind] += 1
            totals["stored_tokens", kind] += ref.token_count
            totals["stored_records", kind] += len(new)
            totals["stored_passages", kind] += sum(record.passages for record in new)
    count(tx, totals)


def count_times(
    database: Database,
    assigned: Assigned,
    summarized: Summarized,
    described: Described,
    embedded: Embedded,
    result: BatchResult,
) -> None:
    """Add the time of each step and the number of its segments."""
    steps = {
        "assign_nodes": (sum(assigned.seconds.values()), len(assigned.seconds)),
        "summarize": (sum(summarized.seconds.values()), len(summarized.seconds)),
        "extract_keywords": (sum(described.seconds.values()), len(described.seconds)),
        "embed": (embedded.seconds, len({p.ref.trigger_id for p in assigned.plans if p.record_id in embedded.vectors})),
        "commit": (sum(result.seconds.values()), len(result.seconds)),
    }
    totals: dict[tuple[str, str], float] = {}
    for step, (taken, segments) in steps.items():
        totals["step_seconds", step] = taken
        totals["step_segments", step] = segments
    add_totals(database, totals)
