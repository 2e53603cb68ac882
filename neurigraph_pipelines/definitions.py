"""What ``workspace.yaml`` loads: assembles the definitions of ``defs`` and decides nothing."""

from __future__ import annotations

import dagster as dg

from neurigraph_pipelines.defs.ingestion_job import ingestion_job
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.schedules import retention_job, retention_schedule
from neurigraph_pipelines.defs.sensors import (
    chunk_threshold_sensor,
    conversation_end_sensor,
    event_boundary_sensor,
    upload_sensor,
)
from neurigraph_pipelines.defs.upload_job import upload_job

defs = dg.Definitions(
    jobs=[ingestion_job, upload_job, retention_job],
    sensors=[conversation_end_sensor, chunk_threshold_sensor, event_boundary_sensor, upload_sensor],
    schedules=[retention_schedule],
    resources={"installation": InstallationResource()},
    executor=dg.in_process_executor,
)
