"""The definitions that ``workspace.yaml`` and ``dg`` load, merged from the modules of ``defs``."""

from __future__ import annotations

import dagster as dg

from neurigraph_pipelines.defs import (
    action_assets,
    digest_assets,
    embedding_assets,
    embedding_model_assets,
    fact_assets,
    failure_sensor,
    ingestion_job,
    installation,
    lifecycle_assets,
    lifecycle_checks,
    memory_assets,
    passage_assets,
    peer_assets,
    profile_assets,
    replay_job,
    report_assets,
    retention_assets,
    schedules,
    sensors,
    summary_assets,
    upload_job,
    vector_index_assets,
    verdict_assets,
    webhook_assets,
)

defs = dg.Definitions.merge(
    installation.definitions(),
    memory_assets.definitions(),
    passage_assets.definitions(),
    ingestion_job.definitions(),
    upload_job.definitions(),
    sensors.definitions(),
    replay_job.definitions(),
    failure_sensor.definitions(),
    embedding_assets.definitions(),
    embedding_model_assets.definitions(),
    summary_assets.definitions(),
    fact_assets.definitions(),
    verdict_assets.definitions(),
    action_assets.definitions(),
    digest_assets.definitions(),
    lifecycle_assets.definitions(),
    lifecycle_checks.definitions(),
    retention_assets.definitions(),
    vector_index_assets.definitions(),
    profile_assets.definitions(),
    webhook_assets.definitions(),
    report_assets.definitions(),
    peer_assets.definitions(),
    schedules.definitions(),
)
