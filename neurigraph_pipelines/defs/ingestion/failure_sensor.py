"""The sensors that report failed runs and failed checks, to the log and to a webhook if one is set.

A report holds names, ids and counts. The text of an error may quote a conversation, so it stays in Dagster's log.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.step_values import batch_in
from neurigraph_pipelines.ingestion.failures import count_open
from neurigraph_pipelines.model.errors import NeurigraphError


@dg.run_failure_sensor(
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Logs failed runs and reports them to a webhook if one is set.",
)
def run_failure_report_sensor(context: dg.RunFailureSensorContext, installation: InstallationResource) -> None:
    """Logs a failed run and posts it to the webhook."""
    report = failure_report(context)
    report["open_failures"] = count_open(installation.opened.database)
    context.log.error("run %s of %s failed at %s", report["run_id"], report["job"], report["steps"] or "no step")
    _post(context, installation, report)


_CHECKED = dg.DagsterEventType.ASSET_CHECK_EVALUATION

MOST_CHECKS_READ = 500
"""Most results of checks that one tick reads; the next one continues."""


@dg.sensor(
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Logs checks that failed with severity ERROR and reports them to a webhook if one is set.",
)
def check_failure_report_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> dg.SkipReason:
    """Logs checks that failed since the last tick and posts them to the webhook."""
    storage = context.instance.event_log_storage
    number, _, seconds = (context.cursor or "").partition(" ")
    if not seconds:  # what failed before this sensor ran was reported to nobody, and is not now
        newest = storage.get_event_records(dg.EventRecordsFilter(_CHECKED), limit=1)
        context.update_cursor(_cursor(newest) if newest else f"0 {time.time()}")
        return dg.SkipReason("checks that run from now on are reported")
    wanted = _checked_since(int(number), float(seconds), by_run=storage.is_run_sharded)
    found = storage.get_event_records(wanted, limit=MOST_CHECKS_READ, ascending=True)
    if not found:
        return dg.SkipReason("no check has run")
    failed = list(_failed_checks(found))
    if failed:
        context.log.error(
            "%s checks failed: %s", len(failed), ", ".join(f"{one['asset']}:{one['check']}" for one in failed)
        )
        _post(context, installation, {"event": "checks_failed", "checks": failed})
    context.update_cursor(_cursor(found))
    return dg.SkipReason(f"{len(found)} checks ran, {len(failed)} failed")


def _checked_since(number: int, seconds: float, *, by_run: bool) -> dg.EventRecordsFilter:
    """Return a filter of the checks after a number, or a moment where each run numbers its own (SQLite)."""
    after = dg.RunShardedEventsCursor(number, datetime.fromtimestamp(seconds, UTC))
    return dg.EventRecordsFilter(_CHECKED, after_cursor=after, after_timestamp=seconds if by_run else None)


def _cursor(records: Sequence[dg.EventLogRecord]) -> str:
    """Return the number and the moment of the last of some events."""
    last = max(record.storage_id for record in records)
    return f"{last} {max(record.event_log_entry.timestamp for record in records)}"


def _failed_checks(records: Iterable[dg.EventLogRecord]) -> Iterator[dict[str, str]]:
    """Yield asset, check and run of the results that failed with severity ERROR."""
    for record in records:
        event = record.event_log_entry.dagster_event
        if event is None:
            continue
        result = event.asset_check_evaluation_data
        if not result.passed and result.severity is dg.AssetCheckSeverity.ERROR:
            yield {
                "asset": result.asset_key.to_user_string(),
                "check": result.check_name,
                "run_id": record.event_log_entry.run_id,
            }


def _post(
    context: dg.RunFailureSensorContext | dg.SensorEvaluationContext,
    installation: InstallationResource,
    report: dict[str, object],
) -> None:
    """Post a report to the webhook, if there is one; a report that cannot be delivered is logged."""
    webhook = installation.opened.failure_webhook
    if webhook is None:
        return
    try:
        webhook.post(report)
    except NeurigraphError as error:
        context.log.error("a report of %s could not be delivered: %s", report["event"], error)
    else:
        context.log.info("%s was reported", report["event"])


def failure_report(context: dg.RunFailureSensorContext) -> dict[str, object]:
    """Return the report of a failed run, which holds no text of users."""
    run = context.dagster_run
    failures = context.get_step_failure_events()
    errors = [event.step_failure_data.error for event in failures]
    return {
        "event": "run_failed",
        "run_id": run.run_id,
        "job": run.job_name,
        "steps": [event.step_key for event in failures],
        "errors": sorted({(error.cause or error).cls_name or "unknown" for error in errors if error is not None}),
        "retry": run.tags.get("dagster/retry_number", "0"),
        "batch_id": batch_in(run.run_config),
    }
