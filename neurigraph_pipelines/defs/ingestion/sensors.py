"""Sensors that detect segments, lease batches of them and request runs.

A tick calls one domain function to detect and one to lease, and turns batches into run requests.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from neurigraph_pipelines.defs.ingestion.batch_runs import look_after_runs
from neurigraph_pipelines.defs.ingestion.ingestion_job import ingestion_job, run_config
from neurigraph_pipelines.defs.ingestion.upload_job import upload_job
from neurigraph_pipelines.defs.shared.backfills import partition_of
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_states import UNFINISHED
from neurigraph_pipelines.defs.shared.run_tags import LARGE
from neurigraph_pipelines.inbox import drop_intake as drops
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.queue_hold import current_hold
from neurigraph_pipelines.ingestion import readiness
from neurigraph_pipelines.ingestion.detection import DETECTORS
from neurigraph_pipelines.model import TriggerType


def ingestion_sensor(trigger_type: TriggerType, description: str, seconds: int = 30) -> dg.SensorDefinition:
    """Return the sensor of one storage trigger; it leases only its own segments, so no two request the same run.

    Args:
        trigger_type: What the sensor looks for.
        description: What the UI says of it.
        seconds: Time between two ticks: what an idle tick costs, against the time that what has arrived waits. Dagster
            compares it every five seconds, a little early: 10 would often become 15, and 9 becomes 10.
    """
    name = f"{trigger_type.value}_sensor"
    detector = DETECTORS[trigger_type]

    @dg.sensor(
        name=name,
        job=ingestion_job,
        minimum_interval_seconds=seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=description,
    )
    def look(
        context: dg.SensorEvaluationContext, installation: InstallationResource
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        found = detector(installation.context)
        look_after_runs(installation.context, context.instance, ingestion_job.name, name)
        batches = triggers.lease_for_runs(installation.context, name, trigger_type)
        age = readiness.queue_age(installation.opened.database)
        if found or batches:  # Dagster keeps a file for each tick that logs
            context.log.info("%s segments found; %s batches in flight; queue age %.0f s", found, len(batches), age)
        readiness.beat(installation.opened.database, name)
        if not batches:
            held = current_hold(installation.opened.database)
            yield dg.SkipReason(f"the queue is held: {held.reason}" if held else "no segment of this kind is due")
        for batch in batches:
            yield dg.RunRequest(
                run_key=batch.run_key,
                run_config=run_config(batch.batch_id),
                partition_key=partition_of(datetime.now(UTC)),
                tags={
                    "trigger": trigger_type.value,
                    "segments": str(batch.segments),
                    "tokens": str(batch.tokens),
                    "waited_seconds": str(batch.waited_seconds),
                    **(LARGE if batch.large else {}),
                },
            )

    return look


conversation_end_sensor = ingestion_sensor(
    TriggerType.CONVERSATION_END,
    "Finds ended conversations with unstored messages and launches their ingestion in batches.",
    seconds=9,
)
chunk_threshold_sensor = ingestion_sensor(
    TriggerType.CHUNK_THRESHOLD,
    "Finds open conversations that have grown long, cuts them after a response and launches the ingestion of the part "
    "before the cut.",
    seconds=60,
)
event_boundary_sensor = ingestion_sensor(
    TriggerType.EVENT_BOUNDARY,
    "Finds ended meetings, calls, work sessions and milestones and launches the ingestion of each as one memory.",
)


@dg.sensor(
    job_name=upload_job.name,  # with the job itself, Dagster makes the sensor twice, with a warning about its owners
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Watches the drop place and finds uploads whose text is not read yet. Each becomes an event.",
)
def upload_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> dg.RunRequest | dg.SkipReason:
    """Launches a run if a file waits in the drop place or an upload waits to be read."""
    running = dg.RunsFilter(job_name=upload_job.name, statuses=UNFINISHED)
    opened = installation.opened
    busy = context.instance.get_runs_count(running) > 0
    waiting = not busy and drops.waiting(opened.database, opened.drop_place, opened.uploads)
    readiness.beat(opened.database, "upload_sensor")
    if busy:
        return dg.SkipReason("a run is already taking in files")
    return dg.RunRequest() if waiting else dg.SkipReason("no file is waiting")
