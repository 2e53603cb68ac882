"""Assets of facts: records that wait to be read for them, and the facts of each day.

Each calls one function of ``knowledge.reading`` and reports the result.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.ingestion.memory_assets import added_by_day
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
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.lifecycle.verification import faulty_facts


class ReadConfig(JobConfig):
    """How many records one run reads."""

    limit: int = Field(default=reading.MAX_READ, ge=1, description="Most records that one run reads.")


class ReadAgainConfig(JobConfig):
    """The records that a backfill reads."""

    user: str = Field(default="", description="Only records of this user, by slug. Empty: of all users.")
    again: bool = Field(default=False, description="Also records in which the configured model found facts already.")
    dry_run: bool = Field(default=False, description="Only count, as an observation, and change nothing.")


@dg.asset(
    deps=["record_embeddings", "files"],
    pool=LANGUAGE_MODEL_POOL,
    config_schema=schema_of(ReadConfig),
)
def pending_facts(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Reads the records that were stored since the last run for facts."""
    done = reading.read_waiting(installation.context, config_of(context, ReadConfig).limit)
    for record_id, _ in done.failed:
        context.log.warning("record %s waits further", record_id)
    times = storage_times(installation.opened.database, done.record_ids)
    for event in added_by_day("record_facts", times, {"language model": done.extractor}):
        context.log_event(event)
    return dg.MaterializeResult(metadata={**_counts(done), **_waiting(reading.waiting(installation.context))})


@dg.asset_check(asset=pending_facts)
def no_record_waits_a_day_for_its_facts(installation: InstallationResource) -> dg.AssetCheckResult:
    """No record has waited for more than a day to be read for facts."""
    found = reading.waiting(installation.context)
    return dg.AssetCheckResult(passed=found.overdue == 0, metadata={"overdue": found.overdue, **_waiting(found)})


@asset_by_day(ReadAgainConfig, deps=["record_embeddings", "files"], pool=LANGUAGE_MODEL_POOL)
def record_facts(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Facts of the records stored on each day, by the configured language model.

    `pending_facts` reads new records. A backfill reads records again in which this model has found no facts.
    """
    config = config_of(context, ReadAgainConfig)
    since, until = days_of(context)
    user_id = user_id_of(installation.opened.database, config.user)
    chosen = reading.choose_days(installation.context, since, until, user_id, again=config.again)
    if config.dry_run:
        model = installation.context.language_model.name
        yield would_do(context, {"language model": model, "records to read": len(chosen)})
        return
    done = reading.read_again(installation.context, chosen)
    for record_id, _ in done.failed:
        context.log.error("record %s keeps its facts: `neurigraph refact` says why", record_id)
    yield dg.MaterializeResult(metadata=_counts(done))
    if done.failed:
        # They wait further, and the next run of pending_facts tries again.
        raise dg.Failure(f"{len(done.failed)} records keep their facts: the log names them")


_CHECKED = {
    "every_fact_has_evidence": "Every fact cites messages that its record has.",
    "one_latest_per_chain": "The versions of every fact are numbered without gaps: one is the last.",
    "fact_share_is_bounded": "The facts of no record have more than a fifth of its words.",
}


def _check(name: str, description: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=record_facts, name=name, description=description)
    def check(installation: InstallationResource) -> dg.AssetCheckResult:
        found = faulty_facts(installation.context, name)
        return dg.AssetCheckResult(passed=not found, metadata={"faults": len(found), "ids": ", ".join(found[:20])})

    return check


checks = [_check(*checked) for checked in _CHECKED.items()]


read_job = dg.define_asset_job(
    "read_facts_job",
    selection=dg.AssetSelection.assets(pending_facts),  # and its check
    executor_def=dg.in_process_executor,
    tags=YIELDS,
    description="Reads the records that were stored since the last run for facts.",
)


@dg.schedule(
    job=read_job,
    cron_schedule="* * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks once a minute and launches a run only if a record is due.",
)
def read_facts_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a record waits to be read for facts."""
    if not installation.settings.ingestion.facts:
        return dg.SkipReason("facts are switched off (`facts`)")
    if not reading.has_due(installation.context):
        return dg.SkipReason("no record waits to be read for facts")
    return waiting_already(context, read_job.name) or dg.RunRequest()


def _counts(done: reading.FactsRead) -> RunMetadata:
    return {
        "language model": done.extractor,
        "records read": done.records,
        "facts": done.facts,
        "facts dropped, not in the messages": done.dropped,
        "failed for now": failures(done.failed),
    }


def _waiting(found: reading.Waiting) -> RunMetadata:
    waited = (datetime.now(UTC) - found.since).total_seconds() if found.since is not None else 0.0
    return {"still waiting": found.records, "oldest waits for seconds": round(waited, 1)}
