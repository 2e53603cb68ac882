"""Mirrors of peers: an asset that pulls them, its check, and the schedule that launches it."""

import dagster as dg

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_states import waiting_already
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.exchange.peers import subscriptions
from neurigraph_pipelines.model.errors import NeurigraphError, RunningError


@dg.asset
def peer_mirrors(context: dg.AssetExecutionContext, installation: InstallationResource) -> dg.MaterializeResult[None]:
    """Mirrors of granted nodes of other installations, pulled from their publishers."""
    from neurigraph_pipelines.exchange.peers.pulling import pull  # loads numpy

    peering = installation.opened.peers
    counts = {"mirrored": 0, "forgotten": 0, "requests": 0, "bytes": 0, "failed": 0}
    peers = subscriptions.all_peers(installation.opened.database)
    # The one that waited longest comes first, so that slow publishers do not keep this from others for ever.
    for peer in sorted(peers, key=lambda one: (one.tried_at is not None, one.tried_at or one.created_at)):
        try:
            done = pull(peering, peer.peer_id)
        except RunningError:
            continue
        except NeurigraphError as error:  # the others are pulled nonetheless
            counts["failed"] += 1
            context.log.warning(f"peer {peer.peer_id} was not pulled ({type(error).__name__})")
            continue
        counts["mirrored"] += done.mirrored
        counts["forgotten"] += done.forgotten
        counts["requests"] += done.requests
        counts["bytes"] += done.sent_bytes
    return dg.MaterializeResult(metadata=counts)


@dg.asset_check(asset=peer_mirrors)
def mirrors_are_current(installation: InstallationResource) -> dg.AssetCheckResult:
    """Every mirror was pulled completely within the last 600 seconds.

    If it fails: `neurigraph access peer list` says why; `neurigraph access peer pull` tries at once.
    """
    peers = subscriptions.all_peers(installation.opened.database)
    late = [peer for peer in peers if not peer.is_current]
    return dg.AssetCheckResult(
        passed=not late,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "peers": len(peers),
            "late": len(late),
            "longest lag in seconds": round(max((peer.lag_seconds for peer in peers), default=0.0), 1),
            "reasons": ", ".join(sorted({peer.last_error for peer in late if peer.last_error})) or "none",
        },
    )


peers_job = dg.define_asset_job(
    "pull_peers_job",
    selection=dg.AssetSelection.assets(peer_mirrors),  # and its check
    tags=YIELDS,
    description="Pulls the mirrors of peers.",
)


@dg.schedule(
    job=peers_job,
    cron_schedule="*/5 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every five minutes, if there are peers.",
)
def peer_schedule(
    context: dg.ScheduleEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a pull if there is something to pull."""
    if not installation.opened.peers.client.is_on:
        return dg.SkipReason("no host of a peer is allowed")
    if not subscriptions.all_peers(installation.opened.database):
        return dg.SkipReason("there are no peers")
    return waiting_already(context, peers_job.name) or dg.RunRequest()
