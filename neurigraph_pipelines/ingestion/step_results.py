"""Results of the steps of a batch, kept in the database so that another process can go on at a later step.

They belong to the segments that the batch holds, and go when a segment leaves it. Vectors are not kept: they are large,
and ``embed`` makes them again (docs/adr/0091-failed-runs-go-on.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from neurigraph_pipelines.ingestion import triggers
from neurigraph_pipelines.ingestion.records import Assigned, Described, RecordPlan, Summarized
from neurigraph_pipelines.model import Filing, ItemFailure, Keywords, Summary
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

Value = TypeVar("Value")

_Kept = tuple[dict[int, Value], ItemFailure | None, float]
"""Values by part of a segment, why the segment failed, and the seconds that it took."""

_FILINGS: TypeAdapter[_Kept[Filing]] = TypeAdapter(tuple[dict[int, Filing], ItemFailure | None, float])
_SUMMARIES: TypeAdapter[_Kept[Summary]] = TypeAdapter(tuple[dict[int, Summary], ItemFailure | None, float])
_KEYWORDS: TypeAdapter[_Kept[Keywords]] = TypeAdapter(tuple[dict[int, Keywords], ItemFailure | None, float])
_QUERIES = statements("step_results")


def keep_assigned(database: Database, assigned: Assigned) -> None:
    """Keep the result of ``assign_nodes``."""
    filings = {plan.record_id: plan.filing for plan in assigned.plans}
    _keep(database, assigned, "assign_nodes", _FILINGS, filings, assigned.failures, assigned.seconds)


def keep_summarized(database: Database, assigned: Assigned, done: Summarized) -> None:
    """Keep the result of ``summarize``."""
    _keep(database, assigned, "summarize", _SUMMARIES, done.summaries, done.failures, done.seconds)


def keep_described(database: Database, assigned: Assigned, done: Described) -> None:
    """Keep the result of ``extract_keywords``."""
    _keep(database, assigned, "extract_keywords", _KEYWORDS, done.keywords, done.failures, done.seconds)


def find_assigned(database: Database, batch_id: UUID) -> Assigned:
    """Return what ``assign_nodes`` made of the segments that the batch still holds."""
    kept = _kept(database, batch_id, "assign_nodes", _FILINGS)
    plans = tuple(
        RecordPlan(ref, part, filing)
        for ref in triggers.segments_of(database, batch_id)
        if ref.trigger_id in kept
        for part, filing in sorted(kept[ref.trigger_id][0].items())
    )
    return Assigned(batch_id, plans, _failures(kept), _seconds(kept))


def find_summarized(database: Database, assigned: Assigned) -> Summarized:
    """Return what ``summarize`` made of the segments that the batch still holds."""
    kept = _kept(database, assigned.batch_id, "summarize", _SUMMARIES)
    return Summarized(_by_record(assigned, kept), _failures(kept), _seconds(kept))


def find_described(database: Database, assigned: Assigned) -> Described:
    """Return what ``extract_keywords`` made of the segments that the batch still holds."""
    kept = _kept(database, assigned.batch_id, "extract_keywords", _KEYWORDS)
    return Described(_by_record(assigned, kept), _failures(kept), _seconds(kept))


def _keep(
    database: Database,
    assigned: Assigned,
    step: str,
    adapter: TypeAdapter[_Kept[Value]],
    values: Mapping[UUID, Value],
    failures: Iterable[ItemFailure],
    seconds: Mapping[UUID, float],
) -> None:
    parts: dict[UUID, dict[int, Value]] = {}
    for plan in assigned.plans:
        if plan.record_id in values:
            parts.setdefault(plan.ref.trigger_id, {})[plan.part] = values[plan.record_id]
    failed = {failure.trigger_id: failure for failure in failures}
    kept = {
        one: adapter.dump_json((parts.get(one, {}), failed.get(one), seconds.get(one, 0.0)))
        for one in parts.keys() | failed.keys()
    }
    with database.pipeline() as tx:
        tx.execute(
            _QUERIES["keep"],
            {
                "batch_id": assigned.batch_id,
                "step": step,
                "trigger_ids": list(kept),
                "results": list(kept.values()),
            },
        )


def _kept(
    database: Database, batch_id: UUID, step: str, adapter: TypeAdapter[_Kept[Value]]
) -> dict[UUID, _Kept[Value]]:
    with database.pipeline() as tx:
        rows = tx.execute(_QUERIES["kept"], {"batch_id": batch_id, "step": step}).fetchall()
    return {row["trigger_id"]: adapter.validate_json(bytes(row["result"])) for row in rows}


def _by_record(assigned: Assigned, kept: Mapping[UUID, _Kept[Value]]) -> dict[UUID, Value]:
    found = {}
    for plan in assigned.plans:
        values = kept.get(plan.ref.trigger_id, ({}, None, 0.0))[0]
        if plan.part in values:
            found[plan.record_id] = values[plan.part]
    return found


def _failures(kept: Mapping[UUID, _Kept[Value]]) -> tuple[ItemFailure, ...]:
    return tuple(failure for _, failure, _ in kept.values() if failure is not None)


def _seconds(kept: Mapping[UUID, _Kept[Value]]) -> dict[UUID, float]:
    return {one: seconds for one, (_, _, seconds) in kept.items()}
