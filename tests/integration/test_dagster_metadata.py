"""Dagster's stored metadata holds ids, counts and times, and no user text or names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.embeddings.node_index_assets import layer_packs, node_indexes
from neurigraph_pipelines.defs.ingestion.ingestion_job import run_config
from neurigraph_pipelines.defs.ingestion.memory_assets import STORED, stored_days_sensor
from neurigraph_pipelines.defs.knowledge.digest_assets import node_digests
from neurigraph_pipelines.defs.knowledge.fact_assets import record_facts
from neurigraph_pipelines.defs.knowledge.profile_assets import node_profiles
from neurigraph_pipelines.defs.knowledge.verdict_assets import reconciled_facts
from neurigraph_pipelines.defs.shared.backfills import partition_of
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_tags import WAITING
from neurigraph_pipelines.defs.shared.step_values import KEY, step_values
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.runtime.doctor.examination import examine
from neurigraph_pipelines.runtime.doctor.findings import Level
from neurigraph_pipelines.runtime.stack.dagster_home import storage_url
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.word_traces import found_in_dagster

pytestmark = pytest.mark.slow


class PlainInstallation(InstallationResource):
    """The installation with the plain models, which file, and fail, where a message says."""

    def __init__(self, **sections: Any) -> None:
        super().__init__(**sections)

    @property
    def context(self) -> Context:
        return plain_context(self.opened)


@pytest.fixture
def here(installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """An installation that the environment describes, with a drop place."""
    (tmp_path / "drops").mkdir()
    describe(installation.settings, monkeypatch, NEURIGRAPH_DROP_PLACE=str(tmp_path / "drops"))
    return installation


@pytest.fixture
def instance(here: Installation, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that keeps its runs and events in the database beside ours, as in an installation."""
    here.ensure_dagster_database()
    (tmp_path / "dagster").mkdir()
    storage = {
        "storage": {"postgres": {"postgres_url": storage_url(here, tmp_path / "pgpass")}},
        "telemetry": {"enabled": False},
    }
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides=storage) as made:
        yield made


def in_files(folder: Path, word: str) -> list[Path]:
    """Files below a folder that hold a word, or bear it."""
    wanted = word.lower()
    return [
        path
        for path in folder.rglob("*")
        if wanted in path.name.lower() or (path.is_file() and wanted.encode() in path.read_bytes().lower())
    ]


def run_ingestion(here: Installation, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """Run the ingestion job on what is due."""
    batch = triggers.lease_due(here.context, "tests")
    assert batch is not None
    result = defs.resolve_job_def("ingestion_job").execute_in_process(
        run_config=run_config(batch.batch_id),
        partition_key=partition_of(datetime.now(UTC)),
        instance=instance,
        resources={"installation": PlainInstallation(), "io_manager": dg.mem_io_manager, KEY: step_values},
    )
    assert result.success
    return result


def figures(instance: dg.DagsterInstance, asset: str, day: str) -> list[Any]:
    """Return what the events of an asset say of the records of a day, newest first."""
    wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=[day])
    found = [one.asset_materialization for one in instance.fetch_materializations(wanted, 100).records]
    return [one.metadata["records of the day"].value for one in found if one is not None]


class Looks:
    """The ticks of the sensor that reports days."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._cursor: str | None = None

    def tick(self) -> list[Any]:
        """Report what changed, and return the events."""
        resources = {"installation": InstallationResource()}
        with dg.build_sensor_context(instance=self._instance, cursor=self._cursor, resources=resources) as context:
            found = stored_days_sensor(context)
        if not isinstance(found, dg.SensorResult):
            return []
        self._cursor = found.cursor
        for event in found.asset_events:
            self._instance.report_runless_asset_event(event)
        return list(found.asset_events)


def test_day_is_reported_also_without_a_run(here: Installation, instance: dg.DagsterInstance) -> None:
    """An ingestion without Dagster, and a run that dies after its commit, leave a day like any other."""
    looks = Looks(instance)
    user, claims = new_user(here)
    converse(here, claims, "#trips/Dave says hello.")
    assert ingest(plain_context(here), user)
    with here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.record_index SET created_at = created_at - interval '40 days'")
    day, today = (partition_of(datetime.now(UTC) - timedelta(days=ago)) for ago in (40, 0))
    looks.tick()
    assert [figures(instance, asset, day) for asset in STORED] == [[1]] * len(STORED)
    assert looks.tick() == [], "once, and not again"
    for count, text in enumerate(("#trips/Ana says hello.", "#trips/Zoe says hello."), start=1):
        converse(here, claims, text)
        detect(here.context)
        run_ingestion(here, instance)
        assert figures(instance, "memories", today)[0] == count, "all of the day, and not what the run stored"
        looks.tick()
    assert [figures(instance, asset, today) for asset in STORED[1:]] == [[2, 1]] * (len(STORED) - 1)
    assert figures(instance, "memories", day) == [1]


def test_run_and_check_show_what_a_defect_left_out(here: Installation, instance: dg.DagsterInstance) -> None:
    _, claims = new_user(here)
    converse(here, claims, "#trips DEFECT in Faro.")
    detect(here.context)
    result = run_ingestion(here, instance)
    (committed,) = [one for one in result.events_for_node("memories.commit") if one.is_successful_output]
    shown = committed.step_output_data.metadata
    assert shown["unfinished"].value == 1
    assert "summarize (IndexError)" in str(shown["left out because of a defect"].value)
    today = partition_of(datetime.now(UTC))
    report = defs.resolve_job_def("daily_report_job").execute_in_process(instance=instance, partition_key=today)
    checks = {one.check_name: one for one in report.get_asset_check_evaluations()}
    assert not checks["no_memory_is_unfinished"].passed
    assert "summarize (IndexError)" in str(checks["no_memory_is_unfinished"].metadata["waiting longest"].value)
    lacking = [one for one in examine(here) if "lack what a defect" in one.found]
    assert [(one.level, "resummarize" in str(one.remedy)) for one in lacking] == [(Level.WARNING, True)]


@pytest.mark.slow
def test_metadata_holds_no_user_text(here: Installation, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    words = [f"mark{uuid4().hex[:12]}" for _ in range(6)]
    slug, said, node, title, file, dropped = words
    user, claims = new_user(here, slug)
    converse(here, claims, f"#{node}/Dave {said.title()} says hello.", "@Ana:sister", external_id=title)
    converse(here, claims, f"REFUSED {said}", external_id=f"{title} refused")
    converse(here, claims, f"POISON {said}", external_id=f"{title} poisoned")
    converse(here, claims, f"#{node} DEFECT {said}", external_id=f"{title} defect")
    here.uploads.receive(claims, f"{file}.pdf", [b"%PDF-1.7 " + said.encode()])
    here.uploads.receive(claims, f"{file}.txt", [said.encode()])
    place = tmp_path / "drops" / slug
    place.mkdir()
    (place / f"{dropped}.txt").write_text("")
    detect(here.context)
    run_ingestion(here, instance)
    here.objects.put(durable_key(slug, [node], uuid4(), uuid4()), [b"left by a crash"])
    (path,) = (here.home / "objects").glob(f"durable/{slug}/*/*/*.gz")
    path.unlink()  # damage is reported too
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET last_accessed_at = now() - interval '1 year'")
    for job in sorted(job.name for job in defs.get_repository_def().get_all_jobs()):
        if job in ("ingestion_job", "__ASSET_JOB"):
            continue
        definition = defs.get_job_def(job)
        today = partition_of(datetime.now(UTC)) if definition.partitions_def else None
        found = definition.execute_in_process(instance=instance, partition_key=today, raise_on_error=False)
        assert found.success or job == "storage_audit_job", job
    today = partition_of(datetime.now(UTC))
    for waiting in (WAITING, {}):
        made = dg.materialize(
            [record_facts, reconciled_facts, node_digests, node_profiles, node_indexes, layer_packs],
            instance=instance,
            partition_key=today,
            tags=waiting,
            resources={"installation": InstallationResource()},
            raise_on_error=False,
        )
        assert made.success is bool(waiting), "a day that is read again has the damaged file"

    assert len(rows(here, "SELECT FROM neurigraph.record_index WHERE user_id = %s", user.user_id)) == 2
    assert len(instance.get_runs()) > 8
    assert {word: found_in_dagster(here, word) for word in words} == {word: [] for word in words}
    assert "public.runs" in found_in_dagster(here, "record_facts")
    shutil.rmtree(tmp_path / "drops")
    kept = instance.storage_directory()
    assert {word: in_files(Path(kept), word) for word in words} == {word: [] for word in words}
