"""Sensors: each looks for one storage trigger, claims what is due and asks for runs.

A tick calls one domain function to find, one to claim, and turns batches into run requests.
"""

from collections.abc import Iterator

import dagster as dg

from neurigraph_pipelines.defs.ingestion_job import ingestion_job, run_config
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.ingestion import triggers

CLAIMED_BY = "dagster"


@dg.sensor(
    job=ingestion_job,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def conversation_end_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Finds conversations that ended with something unstored, and launches their ingestion in batches."""
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
