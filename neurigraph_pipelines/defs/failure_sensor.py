"""The sensor that reports failed runs, to the log and to a webhook if one is set.

A report holds names, ids and counts. The text of an error may quote a conversation, so it stays in Dagster's log.
"""

from typing import Any

import dagster as dg

from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.ingestion.failures import count_open


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Logs failed runs and reports them to a webhook if one is set.",
)
def run_failure_report_sensor(context: dg.RunFailureSensorContext, installation: InstallationResource) -> None:
    """Logs a failed run and posts it to the webhook."""
    report = failure_report(context)
    report["open_failures"] = count_open(installation.opened.database)
    context.log.error("run %s of %s failed at %s", report["run_id"], report["job"], report["steps"] or "no step")
    webhook = installation.opened.failure_webhook
    if webhook is None:
        return
    try:
        webhook.post(report)
    except NeurigraphError as error:
        context.log.error("run %s could not be reported: %s", report["run_id"], error)
    else:
        context.log.info("run %s was reported", report["run_id"])


def failure_report(context: dg.RunFailureSensorContext) -> dict[str, Any]:
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
        "batch_id": _batch_id(run.run_config),
    }


def _batch_id(config: Any) -> str | None:
    ops = config.get("ops", {}) if isinstance(config, dict) else {}
    batch_id = ops.get("assign_nodes", {}).get("config", {}).get("batch_id")
    return str(batch_id) if batch_id else None


def definitions() -> dg.Definitions:
    """Return the definitions of failure reports."""
    return dg.Definitions(sensors=[run_failure_report_sensor])
