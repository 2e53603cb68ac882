"""What runs by the clock."""

import shutil
import time
from pathlib import Path

import dagster as dg

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.lifecycle_assets import (
    dormant_files,
    expired_files,
    orphan_objects,
    storage_report,
    stuck_rehydrations,
)
from neurigraph_pipelines.graph.provisioning import has_outdated_nodes, upgrade_nodes
from neurigraph_pipelines.ingestion.inbox import purge_stored_bodies
from neurigraph_pipelines.lifecycle.dormancy import has_expired
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck

SECONDS_PER_DAY = 86_400
NODES_UPGRADED = 1_000
"""Nodes that one run brings up to date, at some 20 ms each; the next goes on."""

RUN_OUTPUT_DAYS = 1.0
"""Days for which what the processes of a run printed can still be read."""


@dg.op
def purge_inbox(installation: InstallationResource) -> dg.Output[int]:
    """Removes message bodies whose segments were stored longer ago than the retention allows."""
    age_seconds = installation.settings.inbox_retention_days * SECONDS_PER_DAY
    removed = purge_stored_bodies(installation.opened.database, age_seconds)
    return dg.Output(removed, metadata={"bodies removed": removed, "retention in days": age_seconds / SECONDS_PER_DAY})


@dg.op
def purge_run_outputs(context: dg.OpExecutionContext) -> dg.Output[int]:
    """Removes what finished runs printed, which Dagster itself never does."""
    oldest = time.time() - RUN_OUTPUT_DAYS * SECONDS_PER_DAY
    removed = 0
    for folder in Path(context.instance.storage_directory()).glob("*"):
        run = context.instance.get_run_by_id(folder.name)
        if run is not None and run.is_finished and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder)
            removed += 1
    return dg.Output(removed, metadata={"runs cleaned up": removed})


@dg.op
def finish_erasures(installation: InstallationResource) -> dg.Output[int]:
    """Goes on with what was to be forgotten, where a crash or a store that refused left it under way."""
    from neurigraph_pipelines.erasure import forget  # the words of traces: for runs, not for those who load definitions

    here = installation.opened
    finished = forget.finish_erasures(here.context)
    return dg.Output(len(finished), metadata={"erasures finished": len(finished)})


@dg.job(executor_def=dg.in_process_executor)
def retention_job() -> None:
    """Keeps raw text out of the inbox once it is stored, old prints off the disk, and finishes what is to be forgotten.

    None of the three waits for another.
    """
    purge_inbox()
    purge_run_outputs()
    finish_erasures()


retention_schedule = dg.ScheduleDefinition(
    job=retention_job,
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Once an hour.",
)


@dg.op
def upgrade_outdated_nodes(installation: InstallationResource) -> dg.Output[int]:
    """Brings the tables of nodes that an earlier version made up to date, most recently used first."""
    done = upgrade_nodes(installation.opened.database, NODES_UPGRADED)
    return dg.Output(done, metadata={"nodes brought up to date": done, "limit reached": done == NODES_UPGRADED})


@dg.job(executor_def=dg.in_process_executor)
def node_upgrade_job() -> None:
    """Brings nodes up to date after an upgrade; what is written to before its turn is brought so by its writer."""
    upgrade_outdated_nodes()


@dg.schedule(
    job=node_upgrade_job,
    cron_schedule="*/5 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Looks every five minutes, and launches a run only when a node is of an earlier version.",
)
def node_upgrade_schedule(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run when a node is of an earlier version."""
    if not has_outdated_nodes(installation.opened.database):
        return dg.SkipReason("all nodes are up to date")
    return dg.RunRequest()


# The instance lets one run of each value go at a time: two sweeps do no harm, and take two places from ingestion.
LIFECYCLE_TAG = "neurigraph/lifecycle"

recompression_job = dg.define_asset_job(
    "recompression_job",
    selection=[expired_files, stuck_rehydrations],
    executor_def=dg.in_process_executor,
    tags={LIFECYCLE_TAG: "recompression"},
    description="Sends back to sleep what was opened for a while, and what nobody goes on decompressing.",
)
dormancy_job = dg.define_asset_job(
    "dormancy_job",
    selection=[dormant_files],
    executor_def=dg.in_process_executor,
    tags={LIFECYCLE_TAG: "upkeep"},
    description="Sends to sleep what nobody opened for long.",
)
storage_audit_job = dg.define_asset_job(
    "storage_audit_job",
    selection=[orphan_objects, storage_report],
    executor_def=dg.in_process_executor,
    tags={LIFECYCLE_TAG: "upkeep"},
    description="Compares objects with rows both ways, reads some by lot, and reports what all of them occupy.",
)


@dg.schedule(
    job=recompression_job,
    cron_schedule="* * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Looks once a minute, and launches a run only when a file is due.",
)
def recompression_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run when a file is due to go back to sleep, unless one is under way."""
    under_way = dg.RunsFilter(
        job_name=recompression_job.name,
        statuses=[dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED],
    )
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
