"""Results of the steps of a batch, kept in the database so that another process can go on at a later step.

They belong to the segments that the batch holds, and go when a segment leaves it. Vectors are not kept: they are large,
and ``embed`` makes them again (docs/adr/0021-batches-and-leases.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.read_windows import PERIOD
from neurigraph_pipelines.ingestion.records import Assigned, Described, RecordPlan, Summarized
from neurigraph_pipelines.model import Filing, ItemFailure, Keywords, Summary
from neurigraph_pipelines.model.ports import Database

Value = TypeVar("Value")


class _Kept(NamedTuple, Generic[Value]):
    """The result of a step for a segment.

    Attributes:
        values: By part of the segment.
        failure: Why the segment failed.
        seconds: How long it took.
        left_out: By part, the enrichment that a defect left out.
    """

    values: dict[int, Value]
    failure: ItemFailure | None
    seconds: float
    left_out: Mapping[int, str] = MappingProxyType({})


_FILINGS = TypeAdapter(_Kept[Filing])
_SUMMARIES = TypeAdapter(_Kept[Summary])
_SUMMARIES.rebuild(_types_namespace=PERIOD)
_KEYWORDS = TypeAdapter(_Kept[Keywords])
_QUERIES = statements("step_results")


def keep_assigned(database: Database, assigned: Assigned) -> None:
    """Keep the result of ``assign_nodes``."""
    filings = {plan.record_id: plan.filing for plan in assigned.plans}
    _keep(database, assigned, "assign_nodes", _FILINGS, filings, assigned, {})


def keep_summarized(database: Database, assigned: Assigned, done: Summarized) -> None:
    """Keep the result of ``summarize``."""
    _keep(database, assigned, "summarize", _SUMMARIES, done.summaries, done, done.left_out)


def keep_described(database: Database, assigned: Assigned, done: Described) -> None:
    """Keep the result of ``extract_keywords``."""
    _keep(database, assigned, "extract_keywords", _KEYWORDS, done.keywords, done, done.left_out)


def find_assigned(database: Database, batch_id: UUID) -> Assigned:
    """Return the results of ``assign_nodes`` for the segments that the batch still holds."""
    kept = _kept(database, batch_id, "assign_nodes", _FILINGS)
    plans = tuple(
        RecordPlan(ref, part, filing)
        for ref in triggers.segments_of(database, batch_id)
        if ref.trigger_id in kept
        for part, filing in sorted(kept[ref.trigger_id].values.items())
    )
    return Assigned(batch_id, plans, _failures(kept), _seconds(kept))


def find_summarized(database: Database, assigned: Assigned) -> Summarized:
    """Return the results of ``summarize`` for the segments that the batch still holds."""
    kept = _kept(database, assigned.batch_id, "summarize", _SUMMARIES)
    values, left_out = _by_record(assigned, kept)
    return Summarized(values, _failures(kept), _seconds(kept), left_out)


def find_described(database: Database, assigned: Assigned) -> Described:
    """Return the results of ``extract_keywords`` for the segments that the batch still holds."""
    kept = _kept(database, assigned.batch_id, "extract_keywords", _KEYWORDS)
    values, left_out = _by_record(assigned, kept)
    return Described(values, _failures(kept), _seconds(kept), left_out)


def _keep(
    database: Database,
    assigned: Assigned,
    step: str,
    adapter: TypeAdapter[_Kept[Value]],
    values: Mapping[UUID, Value],
    done: Assigned | Summarized | Described,
    left_out: Mapping[UUID, str],
) -> None:
    parts: dict[UUID, dict[int, Value]] = {}
    marks: dict[UUID, dict[int, str]] = {}
    for plan in assigned.plans:
        if plan.record_id in values:
            parts.setdefault(plan.ref.trigger_id, {})[plan.part] = values[plan.record_id]
        if plan.record_id in left_out:
            marks.setdefault(plan.ref.trigger_id, {})[plan.part] = left_out[plan.record_id]
    failed = {failure.trigger_id: failure for failure in done.failures}
    kept = {
        one: adapter.dump_json(
            _Kept(parts.get(one, {}), failed.get(one), done.seconds.get(one, 0.0), marks.get(one, {}))
        )
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


def _by_record(assigned: Assigned, kept: Mapping[UUID, _Kept[Value]]) -> tuple[dict[UUID, Value], dict[UUID, str]]:
    """Return the values, and the enrichments that were left out, by record."""
    values, left_out = {}, {}
    for plan in assigned.plans:
        of_segment = kept.get(plan.ref.trigger_id)
        if of_segment is not None and plan.part in of_segment.values:
            values[plan.record_id] = of_segment.values[plan.part]
        if of_segment is not None and plan.part in of_segment.left_out:
            left_out[plan.record_id] = of_segment.left_out[plan.part]
    return values, left_out


def _failures(kept: Mapping[UUID, _Kept[Value]]) -> tuple[ItemFailure, ...]:
    return tuple(one.failure for one in kept.values() if one.failure is not None)


def _seconds(kept: Mapping[UUID, _Kept[Value]]) -> dict[UUID, float]:
    return {trigger_id: one.seconds for trigger_id, one in kept.items()}
