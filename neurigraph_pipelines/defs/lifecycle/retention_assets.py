"""Assets of retention: records whose time is over, and facts that faded.

Each calls one function of the domain and reports the result. Nothing is erased.
"""

import time
from typing import Any

import dagster as dg

from neurigraph_pipelines.defs.lifecycle.lifecycle_assets import Results, SweepConfig, observed, progress
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since, table
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.knowledge import fading
from neurigraph_pipelines.lifecycle import archive

OVERDUE_SECONDS = 4 * 3_600.0
"""Allowed delay of the archive: some ticks of the schedule, and the run."""


@dg.asset(
    deps=["memories"],
    output_required=False,
    config_schema=schema_of(SweepConfig),
)
def expired_records(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Memories that were archived because their time was over; those that were read often are promoted before.

    They can be restored: `neurigraph memory archive list`.
    """
    config, started = config_of(context, SweepConfig), time.monotonic()
    report = archive.sweep(
        installation.context,
        limit=config.limit,
        user_id=user_id_of(installation.opened.database, config.user),
        dry_run=config.dry_run,
        on_done=progress(context, "memories archived"),
    )
    for user_id, reason in report.failed:
        context.log.warning("memories of user %s stay for now: %s", user_id, reason)
    yield observed(
        context,
        config,
        {
            "memories archived": report.archived,
            "memories promoted": report.promoted,
            "users to try again": len(report.failed),
            "limit reached": not report.finished,
            "seconds": seconds_since(started),
            "memories": table([{"record": str(one)} for one in report.record_ids]),
        },
    )


@dg.asset(
    deps=["links_and_beliefs"],
    output_required=False,
    config_schema=schema_of(SweepConfig),
)
def faded_facts(context: dg.AssetExecutionContext, installation: InstallationResource) -> Results:
    """Facts of low impact that were archived because nobody needed them for a year.

    None of them is pinned, and nothing rests on them. They can be brought back: `neurigraph fact confirm`.
    """
    config, started = config_of(context, SweepConfig), time.monotonic()
    report = fading.sweep(
        installation.context,
        limit=config.limit,
        user_id=user_id_of(installation.opened.database, config.user),
        dry_run=config.dry_run,
        on_done=progress(context, "facts archived"),
    )
    yield observed(
        context,
        config,
        {
            "facts archived": len(report.fact_ids),
            "limit reached": not report.finished,
            "seconds": seconds_since(started),
            "facts": table([{"fact": str(one)} for one in report.fact_ids]),
        },
    )


@dg.asset_check(asset=expired_records)
def no_memory_is_kept_past_its_time(installation: InstallationResource) -> dg.AssetCheckResult:
    """No memory is still found hours after its time was over.

    If it fails: materialize `expired_records`: its log says why memories stay.
    """
    late = archive.sweep(installation.context, overdue_seconds=OVERDUE_SECONDS, dry_run=True)
    return _checked(late.record_ids, severity=dg.AssetCheckSeverity.WARN)


@dg.asset_check(asset=expired_records)
def no_archived_memory_is_shown(installation: InstallationResource) -> dg.AssetCheckResult:
    """Every memory of the archive is left out of every default read.

    If it fails: `neurigraph admin verify` says which; `memory archive restore`, then `memory archive add` mend it.
    """
    return _checked(archive.wrongly_shown(installation.context))


@dg.asset_check(asset=faded_facts)
def no_important_fact_faded(installation: InstallationResource) -> dg.AssetCheckResult:
    """No fact of a higher impact, and none that is pinned, was archived for its age.

    If it fails: `neurigraph fact confirm` brings each fact of `ids` back.
    """
    return _checked(fading.wrongly_faded(installation.context))


def _checked(found: list[Any], severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR) -> dg.AssetCheckResult:
    first = ", ".join(str(one) for one in found[:20])
    return dg.AssetCheckResult(passed=not found, severity=severity, metadata={"faults": len(found), "ids": first})


expiry_job = dg.define_asset_job(
    "expiry_job",
    selection=dg.AssetSelection.assets(expired_records),  # and its checks
    tags=YIELDS,
    description="Promotes memories that were read often, and archives those whose time is over.",
)
fading_job = dg.define_asset_job(
    "fading_job",
    selection=dg.AssetSelection.assets(faded_facts),
    tags=YIELDS,
    description="Archives facts of low impact that nobody needed for a year.",
)


@dg.schedule(
    job=expiry_job,
    cron_schedule="37 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks once an hour and launches a run only if a memory has expired or is to be promoted.",
)
def expiry_schedule(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a memory has expired, or was read often enough to be promoted."""
    due = archive.sweep(installation.context, limit=1, dry_run=True)
    if not due.archived and not due.promoted:
        return dg.SkipReason("no memory has expired, and none is to be promoted")
    return dg.RunRequest()


fading_schedule = dg.ScheduleDefinition(
    job=fading_job,
    cron_schedule="7 4 * * 0",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once a week.",
)
