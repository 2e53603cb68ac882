"""Lifecycle assets, checks and schedules in Dagster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.lifecycle.schedules import recompression_schedule
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_tags import LIFECYCLE_TAG
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.archive import restore
from neurigraph_pipelines.lifecycle.object_keys import durable_key, record_of
from neurigraph_pipelines.lifecycle.retention import set_tier
from neurigraph_pipelines.model import CompressionCause, Tier
from neurigraph_pipelines.wiring.installation import Installation
from resources.storage.sealing import MAGIC
from tests.conftest import ROOT
from tests.support.command_line import describe
from tests.support.files import StoredFile, store_file

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")


@pytest.fixture
def file(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> StoredFile:
    """A file of an installation that the environment describes, as it does to Dagster's processes."""
    describe(installation.settings, monkeypatch)
    return store_file(installation)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def instance_on_disk(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """As a schedule needs it, which finds it by its place."""
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


class Ran:
    """One run of a job, and the metadata of its assets."""

    def __init__(self, instance: dg.DagsterInstance, job: str, **config: dict[str, Any]) -> None:
        self.result = defs.get_job_def(job).execute_in_process(
            instance=instance, run_config={"ops": {name: {"config": values} for name, values in config.items()}}
        )
        assert self.result.success

    def metadata_of(self, asset: str) -> dict[str, Any]:
        (event,) = self.result.asset_materializations_for_node(asset)
        return {name: value.value for name, value in event.metadata.items()}

    def observed(self, asset: str) -> dict[str, Any]:
        assert self.result.asset_materializations_for_node(asset) == []
        (event,) = self.result.asset_observations_for_node(asset)
        return {name: value.value for name, value in event.metadata.items()}

    def checks(self) -> dict[str, bool]:
        return {check.check_name: check.passed for check in self.result.get_asset_check_evaluations()}


def claim(file: StoredFile) -> None:
    """Lease the file as a worker that dies right after."""
    with file.here.database.pipeline() as tx:
        transitions.begin_rehydration(tx, file.here.settings, file.place, uuid4(), CompressionCause.RETRIEVAL)
        lapsed = "tstzrange(now() - interval '1 hour', now())"
        tx.execute(f'UPDATE "{file.place.schema_name}".file_manifest SET lease = {lapsed}')


def test_unused_files_are_compressed_in_batches(file: StoredFile, instance: dg.DagsterInstance) -> None:
    more = [store_file(file.here, f"#Notes N{number}", user=(file.user, file.claims)) for number in range(2)]
    assert Ran(instance, "dormancy_job").metadata_of("dormant_files")["files compressed"] == 0
    for each in (file, *more):
        each.age(35)
    with_dry_run = Ran(instance, "dormancy_job", dormant_files={"dry_run": True, "limit": 2})
    planned = with_dry_run.observed("dormant_files")
    assert (planned["files compressed"], planned["files left"], with_dry_run.checks()) == (2, 1, {})
    assert {each.state for each in (file, *more)} == {"active"}

    first = Ran(instance, "dormancy_job", dormant_files={"limit": 2, "user": file.user.slug})
    values = first.metadata_of("dormant_files")
    assert (values["files compressed"], values["limit reached"], values["files left"]) == (2, True, 1)
    assert first.checks() == {"no_file_is_awake_unopened": False}
    second = Ran(instance, "dormancy_job")
    values = second.metadata_of("dormant_files")
    assert (values["files compressed"], values["limit reached"], values["failures"]) == (1, False, "none")
    assert second.checks() == {"no_file_is_awake_unopened": True}
    assert {each.state for each in (file, *more)} == {"dormant"}


def test_uncompressible_file_is_reported(file: StoredFile, instance: dg.DagsterInstance) -> None:
    lost = store_file(file.here, "#Notes Lost.", user=(file.user, file.claims))
    file.here.objects.delete(lost.key)
    for each in (file, lost):
        each.age(35)
    run = Ran(instance, "dormancy_job")
    values = run.metadata_of("dormant_files")
    assert (values["files compressed"], values["failed"]) == (1, 1)
    assert values["failures"].records[0].data["file"] == str(lost.file_id)
    assert run.checks() == {"no_file_is_awake_unopened": False}
    assert (file.state, lost.state) == ("dormant", "active")


def test_due_and_stuck_files_return(file: StoredFile, instance_on_disk: dg.DagsterInstance) -> None:
    instance = instance_on_disk

    def tick() -> object:
        resources = {"installation": InstallationResource()}
        with dg.build_schedule_context(instance=instance, resources=resources) as context:
            return recompression_schedule(context)

    stuck = store_file(file.here, "#Work Tea.", user=(file.user, file.claims))
    Ran(instance, "dormancy_job")
    assert isinstance(tick(), dg.SkipReason), "both are awake since they were stored"
    file.age(31)
    Ran(instance, "dormancy_job")
    file.open()
    assert isinstance(tick(), dg.SkipReason), "it was opened just now"
    file.age(1)
    assert isinstance(tick(), dg.RunRequest)

    stuck.age(31)
    Ran(instance, "dormancy_job")
    claim(stuck)
    dry = {"dry_run": True}
    planned = Ran(instance, "recompression_job", expired_files=dry, stuck_rehydrations=dry)
    assert planned.observed("expired_files")["files compressed"] == 1
    assert planned.observed("stuck_rehydrations")["files reverted"] == 1
    assert (file.state, stuck.state) == ("active", "rehydrating")
    run = Ran(instance, "recompression_job")
    assert run.metadata_of("expired_files")["files compressed"] == 1
    assert run.metadata_of("stuck_rehydrations")["files"].records[0].data["file"] == str(stuck.file_id)
    assert run.checks() == {"no_file_is_awake_past_its_time": True}
    assert (file.state, stuck.state) == ("dormant", "dormant")
    assert isinstance(tick(), dg.SkipReason)

    claim(stuck)
    assert isinstance(tick(), dg.RunRequest)
    instance.create_run_for_job(defs.get_job_def("recompression_job"), status=dg.DagsterRunStatus.STARTED)
    assert tick() == dg.SkipReason("a run is under way")


def test_overdue_file_is_reported(file: StoredFile, instance: dg.DagsterInstance) -> None:
    file.age(31)
    Ran(instance, "dormancy_job")
    file.open()
    file.here.objects.delete(file.key)
    file.age(1)
    run = Ran(instance, "recompression_job")
    assert run.metadata_of("expired_files")["failed"] == 1
    (check,) = run.result.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert check.metadata["files overdue"].value == 1


def test_what_was_stored_before_is_encrypted(
    file: StoredFile, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Ran(instance, "storage_audit_job").metadata_of("encrypted_files")["left"] == 0, "encryption is off"
    monkeypatch.setenv("NEURIGRAPH_ENCRYPTION", "true")
    planned = Ran(instance, "storage_audit_job", encrypted_files={"dry_run": True}).observed("encrypted_files")
    left = planned["left"]
    assert left > 1
    first = Ran(instance, "storage_audit_job", encrypted_files={"limit": 1})
    values = first.metadata_of("encrypted_files")
    assert (values["encrypted now"], values["left"], first.checks()["files_are_encrypted"]) == (1, left - 1, False)
    second = Ran(instance, "storage_audit_job")
    values = second.metadata_of("encrypted_files")
    assert (values["encrypted before"], values["left"], second.checks()["files_are_encrypted"]) == (1, 0, True)
    assert (file.here.home / "objects" / file.key).read_bytes().startswith(MAGIC)


def test_audit_checks_objects_and_rows(
    file: StoredFile, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEURIGRAPH_ORPHAN_GRACE_HOURS", "0")
    orphan = durable_key("nobody", ["Notes"], uuid4(), uuid4())
    file.here.objects.put(orphan, [b"left by a crash"])
    planned = Ran(instance, "storage_audit_job", orphan_objects={"dry_run": True}).observed("orphan_objects")
    assert (planned["orphans"], planned["removed"]) == (1, 0)
    run = Ran(instance, "storage_audit_job")
    values = run.metadata_of("orphan_objects")
    assert (values["removed"], values["orphans of"].records[0].data["record"]) == (1, str(record_of(orphan)))
    assert run.checks() == {
        "every_row_has_its_object": True,
        "every_table_is_guarded": True,
        "files_are_encrypted": True,
        "no_canary_was_retrieved": True,
        "no_foreign_memory_is_shared": True,
        "no_memory_looks_like_poison": False,
        "sampled_checksums_hold": True,
    }
    report, row = run.metadata_of("storage_report"), file.row
    assert (report["files"], report["content bytes"]) == (1, row["size_bytes"])
    assert report["active bytes"] == row["size_bytes"] + row["stored_bytes"]
    assert report["by user"].records[0].data["user"] == str(file.user.user_id)
    assert report["by node"].records[0].data["node"] == str(file.place.node_id)

    file.here.objects.put(file.key, [b"something else"])
    assert Ran(instance, "storage_audit_job").checks() == {
        "every_row_has_its_object": True,
        "every_table_is_guarded": True,
        "files_are_encrypted": True,
        "no_canary_was_retrieved": True,
        "no_foreign_memory_is_shared": True,
        "no_memory_looks_like_poison": False,
        "sampled_checksums_hold": False,
    }
    file.here.objects.delete(file.key)
    run = Ran(instance, "storage_audit_job")
    assert run.checks() == {
        "every_row_has_its_object": False,
        "every_table_is_guarded": True,
        "files_are_encrypted": True,
        "no_canary_was_retrieved": True,
        "no_foreign_memory_is_shared": True,
        "no_memory_looks_like_poison": False,
        "sampled_checksums_hold": False,
    }
    for check in run.result.get_asset_check_evaluations():
        if check.passed or check.check_name == "no_memory_looks_like_poison":  # the file repeats one sentence
            continue
        findings: Any = check.metadata["first findings"].value
        assert findings.records[0].data["fault"] == "object"
        assert findings.records[0].data["file or record"] == str(file.file_id)


def test_one_run_per_lifecycle_job() -> None:
    assert f"key: {LIFECYCLE_TAG}\n" in (ROOT / "dagster_home" / "dagster.yaml").read_text(encoding="utf-8")
    jobs = ("recompression_job", "dormancy_job", "storage_audit_job")
    assert [defs.get_job_def(name).tags[LIFECYCLE_TAG] for name in jobs] == ["recompression", "upkeep", "upkeep"]


def test_expired_memories_are_archived(file: StoredFile, instance: dg.DagsterInstance) -> None:
    record_id, context = file.row["record_id"], file.here.acting_for(file.claims)
    set_tier(context, record_id, Tier.SHORT)
    assert Ran(instance, "expiry_job").metadata_of("expired_records")["memories archived"] == 0
    with file.here.database.pipeline() as tx:
        past = "granted_until = now() - interval '5 hours', expires_at = now() - interval '5 hours'"
        tx.execute(f"UPDATE neurigraph.record_retention SET {past}")
    planned = Ran(instance, "expiry_job", expired_records={"dry_run": True}).observed("expired_records")
    assert planned["memories archived"] == 1
    done = Ran(instance, "expiry_job", expired_records={"user": file.user.slug})
    assert done.metadata_of("expired_records")["memories"].records[0].data == {"record": str(record_id)}
    assert done.checks() == {"no_memory_is_kept_past_its_time": True, "no_archived_memory_is_shown": True}
    weekly = Ran(instance, "fading_job")
    assert weekly.metadata_of("faded_facts")["facts archived"] == 0
    assert weekly.checks() == {"no_important_fact_faded": True}
    assert restore(context, [record_id]) == [record_id]
