"""Sensors: each looks for one storage trigger, claims what is due and asks for runs.

A tick calls one domain function to find, one to claim, and turns batches into run requests.
"""

from collections.abc import Iterator

import dagster as dg

from neurigraph_pipelines.defs.ingestion_job import ingestion_job, run_config
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.ingestion import triggers

CLAIMED_BY = "dagster"

LEAST_SECONDS_BETWEEN_TICKS = 1
"""Below the daemon's fixed loop of five seconds, which would otherwise miss every other tick by a hair."""


@dg.sensor(
    job=ingestion_job,
    minimum_interval_seconds=LEAST_SECONDS_BETWEEN_TICKS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Finds conversations that ended with something unstored, and launches their ingestion in batches.",
)
def conversation_end_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One look; unlike a job's, a sensor's docstring is shown to nobody."""
    database = installation.opened.database
    found = triggers.detect_ended(database)
    batches = triggers.claim_for_runs(database, installation.settings, CLAIMED_BY)
    context.log.info("%s conversations ended; %s batches in flight", found, len(batches))
    if not batches:
        yield dg.SkipReason("no conversation has ended with something unstored")
    for batch in batches:
        yield dg.RunRequest(
            run_key=batch.run_key,
            run_config=run_config(batch.batch_id),
            tags={"neurigraph/segments": str(batch.segments), "neurigraph/tokens": str(batch.tokens)},
        )
