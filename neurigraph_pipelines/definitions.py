"""What ``workspace.yaml`` loads: assembles the definitions of ``defs`` and decides nothing."""

from __future__ import annotations

import dagster as dg

from neurigraph_pipelines.defs.embedding_assets import (
    heal_embeddings_schedule,
    heal_job,
    pending_embeddings,
    record_embeddings,
)
from neurigraph_pipelines.defs.failure_sensor import run_failure_report_sensor
from neurigraph_pipelines.defs.ingestion_job import ingestion_job
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.replay_job import replay_job
from neurigraph_pipelines.defs.schedules import retention_job, retention_schedule
from neurigraph_pipelines.defs.sensors import (
    chunk_threshold_sensor,
    conversation_end_sensor,
    event_boundary_sensor,
    upload_sensor,
)
from neurigraph_pipelines.defs.upload_job import upload_job
from neurigraph_pipelines.defs.vector_index_assets import vector_index_job, vector_index_schedule, vector_indexes

defs = dg.Definitions(
    assets=[pending_embeddings, record_embeddings, vector_indexes],
    jobs=[ingestion_job, upload_job, replay_job, heal_job, retention_job, vector_index_job],
    sensors=[
        conversation_end_sensor,
        chunk_threshold_sensor,
        event_boundary_sensor,
        upload_sensor,
        run_failure_report_sensor,
    ],
    schedules=[retention_schedule, heal_embeddings_schedule, vector_index_schedule],
    resources={"installation": InstallationResource()},
    executor=dg.in_process_executor,
)
