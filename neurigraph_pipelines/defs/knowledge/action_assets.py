"""The queue of decisions: an asset with its figures over time, its checks, and a sensor that tells."""

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.knowledge.deciding import upkeep
from neurigraph_pipelines.model.errors import NeurigraphError


@dg.asset(deps=["links_and_beliefs"])
def open_actions(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Ends expired actions, carries out approved ones, and reports overdue ones to the webhook."""
    kept = upkeep.keep(installation.context)
    queue = upkeep.waiting(installation.context)
    if queue.unreported:
        _tell(context, installation, queue)
    return dg.MaterializeResult(
        metadata={
            "expired": kept.expired,
            "carried out": kept.executed,
            "actions open": queue.waiting,
            **_open(queue),
        }
    )


@dg.asset_check(asset=open_actions)
def no_action_waits_too_long(installation: InstallationResource) -> dg.AssetCheckResult:
    """No action has waited for a decision for longer than the setting `action_overdue_hours` says.

    If it fails: `neurigraph action list` lists them, `approve` and `reject` decide.
    """
    queue = upkeep.waiting(installation.context)
    return dg.AssetCheckResult(passed=queue.overdue == 0, severity=dg.AssetCheckSeverity.WARN, metadata=_open(queue))


@dg.asset_check(asset=open_actions)
def approved_actions_are_carried_out(installation: InstallationResource) -> dg.AssetCheckResult:
    """No action was approved an hour ago and neither carried out nor marked as failed since.

    If it fails: materialize `open_actions`: its log says why an action is not carried out.
    """
    found = upkeep.find_not_carried_out(installation.context)
    return dg.AssetCheckResult(
        passed=not found, metadata={"actions": len(found), "ids": ", ".join(map(str, found[:20]))}
    )


actions_job = dg.define_asset_job(
    "keep_actions_job",
    selection=dg.AssetSelection.assets(open_actions),  # and its check
    tags=YIELDS,
    description="Ends, carries out and reports actions that wait for a decision.",
)


@dg.sensor(
    job=actions_job,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Launches a run if an action expired, was not carried out, or has waited too long.",
)
def waiting_actions_sensor(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if there is something to do for the queue of actions."""
    if not upkeep.has_work(installation.context):
        return dg.SkipReason("nothing is due")
    return dg.RunRequest()


def _tell(context: dg.AssetExecutionContext, installation: InstallationResource, queue: upkeep.OpenActions) -> None:
    context.log.warning("%d actions have waited for a decision for too long", queue.overdue)
    webhook = installation.opened.failure_webhook
    try:
        if webhook is not None:
            webhook.post(upkeep.report(queue))
    except NeurigraphError as error:  # tried again by the next run
        context.log.error("what waits too long could not be reported: %s", error)
    else:
        upkeep.note_report(installation.context)


def _open(queue: upkeep.OpenActions) -> RunMetadata:
    return {"overdue": queue.overdue, "oldest waits for seconds": round(queue.oldest_seconds, 1)}
