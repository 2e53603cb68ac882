"""Adds what a batch did to the totals of the pipeline, which metrics show."""

from __future__ import annotations

from collections import Counter

from neurigraph_pipelines.ingestion.records import Assigned, BatchResult, Described, Embedded, Summarized
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.totals import add_totals

FAILED = "failed"
"""The state of a segment that was given up; every other is tried again."""


def count_batch(
    database: Database,
    assigned: Assigned,
    summarized: Summarized,
    described: Described,
    embedded: Embedded,
    result: BatchResult,
) -> BatchResult:
    """Add stored segments by kind of source, the time of each step, and failures by step; return the result."""
    totals: Counter[tuple[str, str]] = Counter()
    refs = {plan.ref.trigger_id: plan.ref for plan in assigned.plans}
    new = [record for record in result.stored if not record.already_stored]
    for trigger_id in {record.trigger_id for record in new}:
        kind = refs[trigger_id].source_kind.value
        totals["stored_segments", kind] += 1
        totals["stored_tokens", kind] += refs[trigger_id].token_count
    for record in new:
        kind = refs[record.trigger_id].source_kind.value
        totals["stored_records", kind] += 1
        totals["stored_passages", kind] += record.passages
    steps = {
        "assign_nodes": (sum(assigned.seconds.values()), len(assigned.seconds)),
        "summarize": (sum(summarized.seconds.values()), len(summarized.seconds)),
        "extract_keywords": (sum(described.seconds.values()), len(described.seconds)),
        "embed": (embedded.seconds, len({p.ref.trigger_id for p in assigned.plans if p.record_id in embedded.vectors})),
        "commit": (sum(result.seconds.values()), len(result.seconds)),
    }
    seconds: dict[tuple[str, str], float] = {}
    for step, (taken, segments) in steps.items():
        seconds["step_seconds", step] = taken
        totals["step_segments", step] += segments
    for failure, state in result.returned:
        totals["failed_segments" if state == FAILED else "retried_segments", failure.step] += 1
    add_totals(database, {**totals, **seconds})
    return result
