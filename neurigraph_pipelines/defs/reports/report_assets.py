"""The report of each day as an asset, and the checks of the inbox and the queue.

Each calls one function of ``daily_report`` and reports the result.
"""

from datetime import timedelta

import dagster as dg

from neurigraph_pipelines.defs.ingestion.summary_assets import no_memory_is_unfinished
from neurigraph_pipelines.defs.reports import daily_report as reports
from neurigraph_pipelines.defs.shared.backfills import asset_by_day, partition_of
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig
from neurigraph_pipelines.defs.shared.run_tags import YIELDS

LATE_SECONDS = 600.0
"""Waiting time of a segment from which the check warns; `/readyz` gives up later."""

BODIES_GRACE_SECONDS = 3 * 3_600.0
"""Allowed delay of the removal of stored messages: some ticks of the schedule, and the run."""


@asset_by_day(JobConfig, deps=["memories", "reconciled_facts", "storage_report", "open_actions"])
def daily_report(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """The counts of each day (UTC), and of the segments that waited when the report was made."""
    window = context.partition_time_window
    done = reports.report_day(installation.context, window.start, window.end)
    first, *others = context.partition_keys
    shown = reports.as_markdown(f"{first} to {others[-1]}" if others else first, done)
    return dg.MaterializeResult(metadata={"report": dg.MetadataValue.md(shown), **done.numbers()})


@dg.asset_check(asset="sources")
def no_segment_waits_too_long(installation: InstallationResource) -> dg.AssetCheckResult:
    """No segment has been due for more than ten minutes.

    If it fails: see under **Runs** whether runs wait or fail, and under **Automation** whether the sensors run.
    """
    found = reports.backlog(installation.opened.database)
    return dg.AssetCheckResult(
        passed=found.age_seconds <= LATE_SECONDS,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"oldest waits for seconds": round(found.age_seconds, 1), "segments waiting": found.waiting},
    )


@dg.asset_check(asset="sources")
def no_segment_waits_for_a_person(installation: InstallationResource) -> dg.AssetCheckResult:
    """No segment and no upload has failed for good: `neurigraph source failure list` lists them.

    If it fails: `neurigraph source failure list` says why; then launch `replay_job`.
    """
    found = reports.backlog(installation.opened.database)
    return dg.AssetCheckResult(
        passed=found.failed == 0, severity=dg.AssetCheckSeverity.WARN, metadata={"failures": found.failed}
    )


@dg.asset_check(asset="sources")
def no_stored_text_stays_in_the_inbox(installation: InstallationResource) -> dg.AssetCheckResult:
    """Messages leave the inbox once they are stored and their time (`inbox_retention_days`) is over.

    If it fails: launch `retention_job`: its op `purge_inbox` says why messages stay.
    """
    late = reports.late_bodies(installation.context, BODIES_GRACE_SECONDS)
    return dg.AssetCheckResult(passed=late == 0, metadata={"segments": late})


report_job = dg.define_asset_job(
    "daily_report_job",
    selection=dg.AssetSelection.assets(daily_report)
    | dg.AssetSelection.checks(
        no_segment_waits_too_long,
        no_segment_waits_for_a_person,
        no_stored_text_stays_in_the_inbox,
        no_memory_is_unfinished,
    ),
    tags=YIELDS,
    description="Reports the day before, and checks the inbox, the queue and the parts that defects left out.",
)


@dg.schedule(
    job=report_job,
    cron_schedule="3 5 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once a day, for the day before.",
)
def daily_report_schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """Launches the report of the day that is over; on the first day, that day's."""
    return dg.RunRequest(partition_key=partition_of(context.scheduled_execution_time - timedelta(days=1)))
