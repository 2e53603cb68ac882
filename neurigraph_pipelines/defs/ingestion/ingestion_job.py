"""The asset of memories: a graph of five ops over one batch of segments, and the job that makes it.

Each op calls one function of ``ingestion.batch`` and reports ids and counts. Text, titles and error messages stay out
of Dagster's log, which is never erased. Ops are vectorised: one process, one start-up, bounded concurrency within. Ops
import the domain when they run, so that loading the definitions does not load numpy.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.reports.daily_report import StoredDay, stored_days
from neurigraph_pipelines.defs.shared import step_values
from neurigraph_pipelines.defs.shared.backfills import (
    AT_ONCE,
    EMBEDDER_POOL,
    LANGUAGE_MODEL_POOL,
    days,
    days_of,
    partition_of,
)
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata, table
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.records import (
    Assigned,
    BatchResult,
    Committed,
    Described,
    Embedded,
    RecordPlan,
    Summarized,
)
from neurigraph_pipelines.model import ItemFailure
from neurigraph_pipelines.model.measuring import spending

RUN_TAGS = {
    # A crashed run goes on at the step that its process died in: the results of the steps before are in the database.
    "dagster/max_retries": "2",
    "dagster/retry_strategy": "FROM_FAILURE",
    "dagster/max_runtime": "3600",
}


_HANDED_ON = dg.Out(io_manager_key=step_values.KEY)
"""What a step hands on holds words: Dagster must not store it."""


class BatchConfig(JobConfig):
    """The batch that a run stores."""

    batch_id: str = Field(default="", description="Of a sensor. Empty: a batch of due segments, if today is made.")


@dg.op(
    ins={"sources": dg.In(dg.Nothing)}, out=_HANDED_ON, pool=LANGUAGE_MODEL_POOL, config_schema=schema_of(BatchConfig)
)
def assign_nodes(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[Assigned]:
    """Decides which node or nodes each segment belongs to."""
    from neurigraph_pipelines.ingestion import batch

    started = time.monotonic()
    used = installation.context
    batch_id = step_values.batch_of(context.run)
    if not config_of(context, BatchConfig).batch_id and partition_of(datetime.now(UTC)) in context.partition_keys:
        triggers.lease_due(used, "run", insist=True, batch_id=batch_id)
    with spending() as spent:
        assigned = batch.assign_nodes(used, batch_id)
    for plan in assigned.plans:
        if plan.filing.notes:
            message = "record %s was filed with %s notes: its first delta has them"
            context.log.info(message, plan.record_id, len(plan.filing.notes))
    segments = {plan.ref.trigger_id: plan.ref for plan in assigned.plans}.values()
    return dg.Output(
        assigned,
        metadata={
            "segments": len(segments) + len(assigned.failures),
            "records": len(assigned.plans),
            "new nodes": len({node.path for plan in assigned.plans for node in plan.filing.new_nodes}),
            "tokens": sum(ref.token_count for ref in segments),
            "token counter": used.tokens.name + ("" if used.tokens.exact else " (not exact)"),
            "language model": used.language_model.name,
            **spent.numbers(),
            "items": table(_plan_row(plan, assigned.seconds) for plan in assigned.plans),
            **_common(started, assigned.failures),
        },
    )


@dg.op(out=_HANDED_ON, pool=LANGUAGE_MODEL_POOL)
def summarize(installation: InstallationResource, assigned: Assigned) -> dg.Output[Summarized]:
    """Writes the summary of each record, which searches read in its place."""
    from neurigraph_pipelines.ingestion import batch

    started = time.monotonic()
    with spending() as spent:
        summarized = batch.summarize(installation.context, assigned)
    plans = {plan.record_id: plan for plan in assigned.plans}
    return dg.Output(
        summarized,
        metadata={
            "summaries": len(summarized.summaries),
            "tokens": _tokens(plans[record_id] for record_id in summarized.summaries),
            "words": sum(len(summary.text.split()) for summary in summarized.summaries.values()),
            **spent.numbers(),
            "items": table(
                {**_plan_row(plans[record_id], summarized.seconds), "words": len(summary.text.split())}
                for record_id, summary in summarized.summaries.items()
            ),
            **_common(started, summarized.failures),
        },
    )


@dg.op(out=_HANDED_ON, pool=LANGUAGE_MODEL_POOL)
def extract_keywords(
    installation: InstallationResource, assigned: Assigned, summarized: Summarized
) -> dg.Output[Described]:
    """Extracts entities, topics, dates and relationships, unless the call for the summary brought them."""
    from neurigraph_pipelines.ingestion import batch

    started = time.monotonic()
    with spending() as spent:
        described = batch.extract_keywords(installation.context, assigned, summarized)
    plans = {plan.record_id: plan for plan in assigned.plans}
    return dg.Output(
        described,
        metadata={
            "records": len(described.keywords),
            "tokens": _tokens(plans[record_id] for record_id in described.keywords),
            **spent.numbers(),
            "entities": len({entity for found in described.keywords.values() for entity in found.entities}),
            "items": table(
                {
                    **_plan_row(plans[record_id], described.seconds),
                    "entities": len(found.entities),
                    "topics": len(found.topics),
                    "dates": len(found.dates),
                    "relationships": len(found.relationships),
                }
                for record_id, found in described.keywords.items()
            ),
            **_common(started, described.failures),
        },
    )


@dg.op(out=_HANDED_ON, pool=EMBEDDER_POOL)
def embed(
    context: dg.OpExecutionContext, installation: InstallationResource, assigned: Assigned, summarized: Summarized
) -> dg.Output[Embedded]:
    """Embeds summaries and passages. If the provider is down they stay pending."""
    from neurigraph_pipelines.ingestion import batch

    started = time.monotonic()
    embedded = batch.embed(installation.context, assigned, summarized)
    for record_id, _ in embedded.pending:
        context.log.warning("record %s has no embedding for now", record_id)
    plans = {plan.record_id: plan for plan in assigned.plans}
    return dg.Output(
        embedded,
        metadata={
            "embedding model": embedded.model,
            "records": len(embedded.vectors),
            "passages": sum(len(vectors.passages) for vectors in embedded.vectors.values()),
            "pending": len(embedded.pending),
            "tokens": _tokens(plans[record_id] for record_id in embedded.vectors),
            "items": table(
                {**_plan_row(plans[record_id]), "passages": len(vectors.passages)}
                for record_id, vectors in embedded.vectors.items()
            ),
            **_common(started, embedded.failures),
        },
    )


@dg.op
def commit(
    context: dg.AssetExecutionContext,
    installation: InstallationResource,
    assigned: Assigned,
    summarized: Summarized,
    described: Described,
    embedded: Embedded,
) -> dg.Output[BatchResult]:
    """Commits each segment completely or not at all."""
    from neurigraph_pipelines.ingestion import batch
    from neurigraph_pipelines.retrieval.packing import pack_after_commit

    started = time.monotonic()
    result = batch.commit(installation.context, assigned, summarized, described, embedded)
    pack_after_commit(installation.context, {plan.ref.user_id for plan in assigned.plans})
    for failure, state in result.returned:
        context.log.error("segment %s is %s after %s", failure.trigger_id, state, failure.step)
    of_days = stored_days(installation.context.database, *days_of(context))
    for day in context.partition_keys:
        context.add_asset_metadata(of_days.get(day, StoredDay()).numbers(), partition_key=day)
    tokens = {plan.ref.trigger_id: plan.ref.token_count for plan in assigned.plans}
    return dg.Output(
        result,
        metadata={
            "records stored by this run": len(result.stored),
            "passages": sum(record.passages for record in result.stored),
            "embeddings pending": sum(record.pending_embedding for record in result.stored),
            **_left_out(context, result),
            "tokens": sum(tokens[trigger_id] for trigger_id in {record.trigger_id for record in result.stored}),
            "items": table(_stored_row(record, tokens, result.seconds) for record in result.stored),
            "given back": table(
                {"segment": str(failure.trigger_id), "step": failure.step, "state": state}
                for failure, state in result.returned
            ),
            **_common(started, [failure for failure, _ in result.returned]),
        },
    )


@dg.graph_asset(
    ins={"sources": dg.AssetIn(dagster_type=dg.Nothing)},
    partitions_def=days,
    backfill_policy=AT_ONCE,
    group_name="ingestion",
    kinds={"postgres", "file"},
)
def memories(sources: Any) -> Any:
    """Memories that were stored on each day (UTC): their rows, words, links and files.

    Sensors launch the runs that store; `neurigraph ingest` stores without a run. Materializing today stores a batch of
    what is due. An older day is only counted again, since the day of a memory is the day on which it is stored.
    """
    assigned = assign_nodes(sources)
    summarized = summarize(assigned)
    described = extract_keywords(assigned, summarized)
    return commit(assigned, summarized, described, embed(assigned, summarized))


ingestion_job = dg.define_asset_job(
    "ingestion_job",
    selection=dg.AssetSelection.assets(memories).without_checks(),
    tags=RUN_TAGS,
    description="Stores a batch of segments: assign nodes, summarise, extract keywords, embed, commit.",
)


def run_config(batch_id: UUID) -> dict[str, object]:
    """Return the configuration of a run for one batch."""
    return {"ops": {"memories": {"ops": {"assign_nodes": {"config": {"batch_id": str(batch_id)}}}}}}


def _tokens(plans: Iterable[RecordPlan]) -> int:
    return sum({plan.ref.trigger_id: plan.ref.token_count for plan in plans}.values())


def _plan_row(plan: RecordPlan, seconds: Mapping[UUID, float] | None = None) -> dict[str, str | int | float]:
    """Return the row of a record; its tokens and seconds are those of its segment."""
    taken = {} if seconds is None else {"seconds": round(seconds.get(plan.ref.trigger_id, 0.0), 3)}
    return {
        **taken,
        "source": str(plan.ref.source_id),
        "tokens": plan.ref.token_count,
        "layer": len(plan.filing.path),
        "record": str(plan.record_id),
        "messages": plan.filing.last_message - plan.filing.first_message + 1,
    }


def _stored_row(
    record: Committed, tokens: Mapping[UUID, int], seconds: Mapping[UUID, float]
) -> dict[str, str | int | float]:
    return {
        "record": str(record.record_id),
        "passages": record.passages,
        "already stored": record.already_stored,
        "tokens": tokens[record.trigger_id],
        "seconds": round(seconds.get(record.trigger_id, 0.0), 3),
    }


def _left_out(context: dg.AssetExecutionContext, result: BatchResult) -> RunMetadata:
    """Log and return the records that lack something because of a defect, if there are any."""
    lacking = [record for record in result.stored if record.left_out]
    if not lacking:
        return {}
    for record in lacking:
        context.log.warning("record %s lacks, because of a defect: %s", record.record_id, ", ".join(record.left_out))
    rows = [{"record": str(record.record_id), "lacks": ", ".join(record.left_out)} for record in lacking]
    return {"unfinished": len(lacking), "left out because of a defect": table(rows)}


def _common(started: float, failures: Sequence[ItemFailure]) -> RunMetadata:
    found: RunMetadata = {"seconds": round(time.monotonic() - started, 3), "failed": len(failures)}
    if failures:
        found["failures"] = table(
            {"segment": str(f.trigger_id), "step": f.step, "may pass": f.transient} for f in failures
        )
    return found
