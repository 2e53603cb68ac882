"""Deliveries of webhooks: an asset that sends undelivered events, its check, and the sensor that launches it.

The API delivers right after a commit. These deliver the rest, and everything where no API runs.
"""

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.exchange.webhooks import delivery, upkeep


@dg.asset(
    deps=["memories", "reconciled_facts"],
)
def webhook_deliveries(installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Sends due deliveries to webhooks, and drops deliveries that finished long ago."""
    outbox = installation.opened.webhooks
    sent = delivery.deliver_due(outbox) if outbox.sender.is_on else delivery.Sent()
    found = upkeep.figures(outbox)
    return dg.MaterializeResult(
        metadata={
            "delivered": sent.delivered,
            "failed attempts": sent.failed,
            "withheld": sent.withheld,
            "dropped": upkeep.drop_old(outbox),
            **_counts(found),
        }
    )


@dg.asset_check(asset=webhook_deliveries)
def webhooks_are_delivered(installation: InstallationResource) -> dg.AssetCheckResult:
    """Of the events of the last hour, 95 % were delivered.

    If it fails: `neurigraph access webhook delivery list` says why, and `delivery replay` sends again.
    """
    found = upkeep.figures(installation.opened.webhooks)
    return dg.AssetCheckResult(
        passed=found.share >= upkeep.LEAST_SHARE, severity=dg.AssetCheckSeverity.WARN, metadata=_counts(found)
    )


webhooks_job = dg.define_asset_job(
    "deliver_webhooks_job",
    selection=dg.AssetSelection.assets(webhook_deliveries),  # and its check
    tags=YIELDS,
    description="Sends due messages to webhooks.",
)


@dg.sensor(
    job=webhooks_job,
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Launches a run if a delivery to a webhook has been due for ten seconds.",
)
def webhook_sensor(installation: InstallationResource) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a delivery was left."""
    if not upkeep.has_work(installation.opened.webhooks):
        return dg.SkipReason("nothing was left")
    return dg.RunRequest()


def _counts(found: upkeep.DeliveryFigures) -> RunMetadata:
    median = {} if found.median_seconds is None else {"median seconds": round(found.median_seconds, 3)}
    return {
        "waiting": found.waiting,
        "dead": found.dead,
        "tried in the last hour": found.tried,
        "share delivered": round(found.share, 4),
        **median,
    }
