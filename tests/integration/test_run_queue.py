"""The queue of runs: ingestion always has a slot, whatever else goes on."""

from __future__ import annotations

import importlib
from pathlib import Path

import dagster as dg

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.run_coordinator import LARGE
from tests.conftest import ROOT

_INSTANCE = ROOT / "dagster_home" / "dagster.yaml"


origins = importlib.import_module("dagster._core.remote_origin")
_REPOSITORY = origins.RemoteRepositoryOrigin(origins.RegisteredCodeLocationOrigin("neurigraph"), "__repository__")


def _starting(run: dg.DagsterRun) -> dg.DagsterEvent:
    return dg.DagsterEvent(dg.DagsterEventType.PIPELINE_STARTING.value, run.job_name)


def test_long_backfills_leave_ingestion_its_slot(tmp_path: Path) -> None:
    settings = importlib.import_module("yaml").safe_load(_INSTANCE.read_text(encoding="utf-8"))
    daemon = importlib.import_module("dagster._daemon.run_coordinator.queued_run_coordinator_daemon")
    repository = defs.get_repository_def()
    overrides = {name: settings[name] for name in ("run_coordinator", "concurrency")}
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=overrides) as instance:

        def queue(job: str, *selection: str, tags: dict[str, str] | None = None) -> str:
            chosen = [dg.AssetKey(name) for name in selection]
            made = repository.get_implicit_job_def_for_assets(chosen) if chosen else repository.get_job(job)
            assert made is not None
            subset = made.get_subset(asset_selection=set(chosen)) if chosen else made
            config = {"ops": {"assign_nodes": {"config": {"batch_id": "a batch"}}}} if job == "ingestion_job" else None
            all_tags = {**made.run_tags, **(tags or {})}  # as a sensor's run has them
            run = instance.create_run_for_job(
                subset,
                run_config=config,
                tags=all_tags,
                remote_job_origin=origins.RemoteJobOrigin(_REPOSITORY, made.name),
            )
            context = dg.SubmitRunContext(run, workspace=None)  # type: ignore[arg-type]
            instance.run_coordinator.submit_run(context)
            return run.run_id

        def start() -> set[str]:
            """Start what the daemon would, and return what was started."""
            made = daemon.QueuedRunCoordinatorDaemon(interval_seconds=1)
            chosen = made._get_runs_to_dequeue(instance, instance.get_concurrency_config(), None)
            for run in chosen:
                instance.report_dagster_event(_starting(run), run.run_id)
            return {run.run_id for run in chosen}

        backfills = [queue("__ASSET_JOB", name) for name in ("record_summaries", "record_keywords", "record_facts") * 2]
        assert start() == set(backfills[:2])
        upkeep = [queue("retention_job"), queue("storage_audit_job")]
        queue("ingestion_job", tags=LARGE)
        assert start() == {upkeep[0]}
        ingestion = [queue("ingestion_job"), queue("ingestion_job")]
        assert start() == {ingestion[0]}
        instance.delete_run(backfills[0])
        assert start() == {backfills[2]}, "and neither the large segment nor the second batch"
        upload = queue("upload_job")
        instance.delete_run(ingestion[0])
        assert start() == {upload}, "before the batch that has waited longer"
