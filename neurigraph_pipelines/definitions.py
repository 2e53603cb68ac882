"""What ``workspace.yaml`` loads: assembles the definitions of ``defs`` and decides nothing."""

from __future__ import annotations

import dagster as dg

from neurigraph_pipelines.defs.embedding_assets import (
    check_embeddings_schedule,
    check_job,
    heal_embeddings_schedule,
    heal_job,
    no_embedding_is_overdue,
    pending_embeddings,
    record_embeddings,
)
from neurigraph_pipelines.defs.failure_sensor import run_failure_report_sensor
from neurigraph_pipelines.defs.ingestion_job import ingestion_job
from neurigraph_pipelines.defs.installation import InstallationResource
from neurigraph_pipelines.defs.lifecycle_assets import (
    dormant_files,
    expired_files,
    orphan_objects,
    storage_report,
    stuck_rehydrations,
)
from neurigraph_pipelines.defs.lifecycle_checks import (
    every_row_has_its_object,
    every_table_is_guarded,
    nothing_awake_past_its_time,
    nothing_awake_that_nobody_opens,
    sampled_checksums_hold,
)
from neurigraph_pipelines.defs.replay_job import replay_job
from neurigraph_pipelines.defs.schedules import (
    dormancy_job,
    dormancy_schedule,
    node_upgrade_job,
    node_upgrade_schedule,
    recompression_job,
    recompression_schedule,
    retention_job,
    retention_schedule,
    storage_audit_job,
    storage_audit_schedule,
)
from neurigraph_pipelines.defs.sensors import (
    chunk_threshold_sensor,
    conversation_end_sensor,
    event_boundary_sensor,
    upload_sensor,
)
from neurigraph_pipelines.defs.summary_assets import record_summaries
from neurigraph_pipelines.defs.upload_job import upload_job
from neurigraph_pipelines.defs.vector_index_assets import vector_index_job, vector_index_schedule, vector_indexes

defs = dg.Definitions(
    assets=[
        pending_embeddings,
        record_embeddings,
        record_summaries,
        dormant_files,
        expired_files,
        stuck_rehydrations,
        orphan_objects,
        storage_report,
        vector_indexes,
    ],
    asset_checks=[
        no_embedding_is_overdue,
        nothing_awake_past_its_time,
        nothing_awake_that_nobody_opens,
        every_row_has_its_object,
        every_table_is_guarded,
        sampled_checksums_hold,
    ],
    jobs=[
        ingestion_job,
        upload_job,
        replay_job,
        heal_job,
        check_job,
        retention_job,
        recompression_job,
        dormancy_job,
        storage_audit_job,
        node_upgrade_job,
        vector_index_job,
    ],
    sensors=[
        conversation_end_sensor,
        chunk_threshold_sensor,
        event_boundary_sensor,
        upload_sensor,
        run_failure_report_sensor,
    ],
    schedules=[
        retention_schedule,
        heal_embeddings_schedule,
        check_embeddings_schedule,
        recompression_schedule,
        dormancy_schedule,
        storage_audit_schedule,
        node_upgrade_schedule,
        vector_index_schedule,
    ],
    # What steps hand to each other holds the words of conversations: it stays in the memory of the run's one process.
    resources={"installation": InstallationResource(), "io_manager": dg.mem_io_manager},
    executor=dg.in_process_executor,
)
