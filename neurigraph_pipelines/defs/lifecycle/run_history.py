"""Ops that remove the traces of finished runs in Dagster: output of their processes, logs of ticks, and old runs."""

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource

SECONDS_PER_DAY = 86_400

RUN_OUTPUT_DAYS = 1.0
"""Days for which the output of a run's processes is kept."""

_REPOSITORY = "__repository__"
"""Dagster's name for definitions that have none; it is the folder of the logs of ticks."""

_CURSOR = "neurigraph_run_history"
"""Where Dagster keeps the last old run that was looked at and stays."""

_MOST_RUNS = 1_000
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


@dg.op
def purge_run_outputs(context: dg.OpExecutionContext) -> dg.Output[int]:
    """Removes the output of finished runs and the logs of old ticks; Dagster itself never does."""
    oldest = time.time() - RUN_OUTPUT_DAYS * SECONDS_PER_DAY
    storage, removed = Path(context.instance.storage_directory()), 0
    for log in storage.glob(f"{_REPOSITORY}/*/*"):
        if log.is_file() and log.stat().st_mtime < oldest:
            log.unlink()
    for folder in storage.glob("*"):
        run = context.instance.get_run_by_id(folder.name)
        if run is not None and run.is_finished and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder)
            removed += 1
    return dg.Output(removed, metadata={"runs cleaned up": removed})


@dg.op
def purge_runs(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[int]:
    """Removes finished runs that are older than `run_history_days`, with their events.

    A run that marked days of an asset stays, because the marks would go with it.
    """
    days = installation.settings.runs.history_days
    removed = _purge(context.instance, datetime.now(UTC) - timedelta(days=days)) if days else 0
    return dg.Output(removed, metadata={"runs removed": removed, "kept for days": days})


def _purge(instance: dg.DagsterInstance, before: datetime) -> int:
    cursors = instance.daemon_cursor_storage
    kept = cursors.get_cursor_values({_CURSOR}).get(_CURSOR)
    if (
        kept is not None and instance.get_run_by_id(kept) is None
    ):  # somebody removed it: Dagster would find none after it
        kept = None
    removed = 0
    old = dg.RunsFilter(statuses=_FINISHED, updated_before=before)
    for record in instance.get_run_records(old, limit=_MOST_RUNS, cursor=kept, ascending=True):
        run_id = record.dagster_run.run_id
        if _marks_days(instance, run_id):
            kept = run_id
        else:
            instance.delete_run(run_id)
            removed += 1
    if kept is not None:
        cursors.set_cursor_values({_CURSOR: kept})
    return removed


def _marks_days(instance: dg.DagsterInstance, run_id: str) -> bool:
    made = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    return any(record.partition_key is not None for record in made.records)
