"""Jobs and schedules for retention and the lifecycle of files."""

import dagster as dg

from neurigraph_pipelines.access.idempotency import sweep
from neurigraph_pipelines.defs.lifecycle.run_history import SECONDS_PER_DAY, purge_run_outputs, purge_runs
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_states import UNFINISHED
from neurigraph_pipelines.defs.shared.run_tags import LIFECYCLE_TAG, YIELDS
from neurigraph_pipelines.inbox.conversations import purge_stored_bodies
from neurigraph_pipelines.lifecycle.dormancy import has_expired
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck


@dg.op
def purge_inbox(installation: InstallationResource) -> dg.Output[int]:
    """Removes message bodies whose segments were stored longer ago than the retention time."""
    age_seconds = installation.settings.ingestion.inbox_retention_days * SECONDS_PER_DAY
    removed = purge_stored_bodies(installation.opened.database, age_seconds)
    return dg.Output(removed, metadata={"bodies removed": removed, "retention in days": age_seconds / SECONDS_PER_DAY})


@dg.op
def purge_retrieval_log(installation: InstallationResource) -> dg.Output[int]:
    """Removes entries of the log of retrievals that are older than `retrieval_log_days`."""
    from neurigraph_pipelines.retrieval.log import purge_retrievals  # with search, which no other schedule loads

    days = installation.settings.retrieval.retrieval_log_days
    removed = purge_retrievals(installation.opened.database, days)
    return dg.Output(removed, metadata={"entries removed": removed, "kept for days": days})


@dg.op
def purge_request_keys(installation: InstallationResource) -> dg.Output[int]:
    """Removes answers to requests that can no longer be repeated (`idempotency_hours`)."""
    hours = installation.settings.api.idempotency_hours
    removed = sweep(installation.opened.database, hours * 3600)
    return dg.Output(removed, metadata={"answers removed": removed, "kept for hours": hours})


@dg.op
def finish_erasures(installation: InstallationResource) -> dg.Output[int]:
    """Continues erasures that a crash or a refusing object store interrupted."""
    from neurigraph_pipelines.lifecycle.erasure import forget

    here = installation.opened
    finished = forget.finish_erasures(here.context)
    return dg.Output(len(finished), metadata={"erasures finished": len(finished)})


@dg.op
def forget_facts(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[int]:
    """Marks facts whose time to be forgotten has come, and erases those that were marked 30 days ago."""
    from neurigraph_pipelines.knowledge import forgetting

    done = forgetting.sweep(installation.context)
    for fact_id, reason in done.failed:
        context.log.error("fact %s is not erased yet: %s", fact_id, reason)
    counts = {"facts hidden": done.hidden, "facts erased": done.erased, "failed for now": len(done.failed)}
    return dg.Output(done.erased, metadata=counts)


@dg.job(tags=YIELDS)
def retention_job() -> None:
    """Removes stored text from the inbox, old entries, old runs and forgotten facts; finishes erasures.

    The seven ops are independent.
    """
    purge_inbox()
    purge_retrieval_log()
    purge_request_keys()
    purge_run_outputs()
    purge_runs()
    finish_erasures()
    forget_facts()


retention_schedule = dg.ScheduleDefinition(
    job=retention_job,
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once an hour.",
)


recompression_job = dg.define_asset_job(
    "recompression_job",
    selection=dg.AssetSelection.assets("expired_files", "stuck_rehydrations"),
    tags={LIFECYCLE_TAG: "recompression", **YIELDS},
    description="Compresses files again after their time, and resets rehydrations whose worker died.",
)
dormancy_job = dg.define_asset_job(
    "dormancy_job",
    selection=dg.AssetSelection.assets("dormant_files"),
    tags={LIFECYCLE_TAG: "upkeep", **YIELDS},
    description="Compresses files that were not opened for `dormancy_days`.",
)
storage_audit_job = dg.define_asset_job(
    "storage_audit_job",
    selection=dg.AssetSelection.assets("orphan_objects", "storage_report", "encrypted_files"),
    tags={LIFECYCLE_TAG: "upkeep", **YIELDS},
    description="Compares objects with rows in both directions, reads a random sample, reports the space used, and "
    "encrypts plain files that should be encrypted.",
)


@dg.schedule(
    job=recompression_job,
    cron_schedule="*/5 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks every five minutes and launches a run only if a file is due.",
)
def recompression_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a file is due to be compressed again, unless such a run is under way."""
    under_way = dg.RunsFilter(job_name=recompression_job.name, statuses=UNFINISHED)
    if context.instance.get_run_records(under_way, limit=1):
        return dg.SkipReason("a run is under way")
    here = installation.opened
    if not has_expired(here.context) and not revert_stuck(here.database, limit=1, dry_run=True):
        return dg.SkipReason("no file is due")
    return dg.RunRequest()


dormancy_schedule = dg.ScheduleDefinition(
    job=dormancy_job,
    cron_schedule="47 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once an hour.",
)
storage_audit_schedule = dg.ScheduleDefinition(
    job=storage_audit_job,
    cron_schedule="23 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once a day.",
)
