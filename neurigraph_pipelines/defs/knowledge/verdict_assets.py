"""Assets of belief: new facts that wait to be compared with the known ones, and those of each day again.

Each calls one function of ``knowledge.reconciling`` and reports the result.
"""

from collections.abc import Iterable

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.ingestion.memory_assets import added_by_day, reported
from neurigraph_pipelines.defs.shared.backfills import (
    LANGUAGE_MODEL_POOL,
    asset_by_day,
    days_of,
    failures,
    would_do,
)
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.defs.shared.run_states import waiting_already
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.ingestion.record_locations import storage_times
from neurigraph_pipelines.knowledge import reconciling

links_and_beliefs = reported(
    "links_and_beliefs",
    ["reconciled_facts"],
    "What followed from the verdicts on the facts of the records of each day: links between facts, versions, disputes "
    "and beliefs. The runs that judge report it: it is written with the verdicts.",
    group="knowledge",
)


class ReconcileConfig(JobConfig):
    """How many records one run compares."""

    limit: int = Field(default=reconciling.MAX_RECONCILED, ge=1, description="Most records that one run compares.")


class ReconcileAgainConfig(JobConfig):
    """The records that a backfill compares."""

    user: str = Field(default="", description="Only records of this user, by slug. Empty: of all users.")
    dry_run: bool = Field(default=False, description="Only count, as an observation, and change nothing.")


@dg.asset(
    deps=["record_facts"],
    pool=LANGUAGE_MODEL_POOL,
    config_schema=schema_of(ReconcileConfig),
)
def pending_verdicts(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> dg.MaterializeResult[None]:
    """Compares the facts that were read since the last run with the known ones."""
    done = reconciling.reconcile_waiting(installation.context, config_of(context, ReconcileConfig).limit)
    for record_id, _ in done.failed:
        context.log.warning("record %s waits further", record_id)
    times = storage_times(installation.opened.database, done.record_ids)
    for event in added_by_day("reconciled_facts", times, {"language model": done.judge}):
        context.log_event(event)
    if done.verdicts:
        for event in added_by_day(links_and_beliefs.key.to_user_string(), times, _effects(done)):
            context.log_event(event)
    waiting = reconciling.waiting(installation.context)
    return dg.MaterializeResult(metadata={**_counts(done), "still waiting": waiting})


@asset_by_day(ReconcileAgainConfig, deps=["record_facts"], pool=LANGUAGE_MODEL_POOL)
def reconciled_facts(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Verdicts on the facts of the records stored on each day, and what followed: links, versions and beliefs.

    `pending_verdicts` compares new facts. A backfill compares facts again that have no verdict yet, for example with
    another model; verdicts that are there stand.
    """
    config = config_of(context, ReconcileAgainConfig)
    since, until = days_of(context)
    user_id = user_id_of(installation.opened.database, config.user)
    if config.dry_run:
        counted = reconciling.count_days(installation.context, since, until, user_id)
        model = installation.context.language_model.name
        yield would_do(
            context, {"language model": model, "records to compare": counted.records, "pairs to judge": counted.pairs}
        )
        return
    done = reconciling.reconcile_days(installation.context, since, until, user_id)
    times = storage_times(installation.opened.database, done.record_ids)
    for event in added_by_day(links_and_beliefs.key.to_user_string(), times, _effects(done)):
        context.log_event(event)
    yield dg.MaterializeResult(metadata=_counts(done))
    if done.failed:
        # They wait further, and the next run of pending_verdicts tries again.
        raise dg.Failure(f"{len(done.failed)} records wait for verdicts")


reconcile_job = dg.define_asset_job(
    "reconcile_facts_job",
    selection=dg.AssetSelection.assets(pending_verdicts),
    executor_def=dg.in_process_executor,
    tags=YIELDS,
    description="Compares the facts that were read since the last run with the known ones.",
)


@dg.schedule(
    job=reconcile_job,
    cron_schedule="* * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks once a minute and launches a run only if a record waits.",
)
def reconcile_facts_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if facts wait to be compared with the known ones."""
    if not installation.settings.ingestion.facts:
        return dg.SkipReason("facts are switched off (`facts`)")
    if not reconciling.has_due(installation.context):
        return dg.SkipReason("no fact waits to be compared")
    return waiting_already(context, reconcile_job.name) or dg.RunRequest()


def _counts(done: reconciling.Reconciled) -> RunMetadata:
    return {
        "language model": done.judge,
        "records": done.records,
        **_effects(done),
        "failed for now": failures(done.failed),
    }


def _effects(done: reconciling.Reconciled) -> RunMetadata:
    return {
        "verdicts": done.verdicts,
        "superseded": done.superseded,
        "disputed": done.disputed,
        "left to a person": done.flagged,
    }
