"""What runs by the clock."""

import shutil
import time
from pathlib import Path

import dagster as dg

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.ingestion.inbox import purge_stored_bodies

SECONDS_PER_DAY = 86_400
RUN_OUTPUT_DAYS = 1.0
"""Days for which a run can still be re-executed from a failed step."""


@dg.op
def purge_inbox(installation: InstallationResource) -> dg.Output[int]:
    """Removes message bodies whose segments were stored longer ago than the retention allows."""
    age_seconds = installation.settings.inbox_retention_days * SECONDS_PER_DAY
    removed = purge_stored_bodies(installation.opened.database, age_seconds)
    return dg.Output(removed, metadata={"bodies removed": removed, "retention in days": age_seconds / SECONDS_PER_DAY})


@dg.op
def purge_run_outputs(context: dg.OpExecutionContext) -> dg.Output[int]:
    """Removes what the steps of finished runs handed to each other, which Dagster itself never does."""
    oldest = time.time() - RUN_OUTPUT_DAYS * SECONDS_PER_DAY
    removed = 0
    for folder in Path(context.instance.storage_directory()).glob("*"):
        run = context.instance.get_run_by_id(folder.name)
        if run is not None and run.is_finished and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder)
            removed += 1
    return dg.Output(removed, metadata={"runs cleaned up": removed})


@dg.job(executor_def=dg.in_process_executor)
def retention_job() -> None:
    """Keeps raw text out of the inbox once it is stored, and old outputs off the disk."""
    purge_inbox()
    purge_run_outputs()


retention_schedule = dg.ScheduleDefinition(
    job=retention_job,
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once an hour.",
)
