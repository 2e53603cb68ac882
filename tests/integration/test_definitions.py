"""Dagster's definitions: they load without warnings, are complete, and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DependencyDefinition

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.ingestion.ingestion_job import run_config
from neurigraph_pipelines.defs.ingestion.sensors import conversation_end_sensor
from neurigraph_pipelines.defs.lifecycle.run_history import RUN_OUTPUT_DAYS, SECONDS_PER_DAY
from neurigraph_pipelines.defs.shared.backfills import partition_of
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_states import waiting_already
from neurigraph_pipelines.defs.shared.step_values import KEY, step_values
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.ingestion.records import BatchResult
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import describe, is_command
from tests.support.definitions import specifications
from tests.support.memories import converse, new_user, plain_context, rows

# What the UI shows of all definitions, frozen: a change of one is a change of this file.
SPECIFICATIONS = ROOT / "tests" / "data" / "definitions.json"
# The shape of the job, frozen: op, its inputs with where they come from.
OPS = {
    "assign_nodes": {},
    "summarize": {"assigned": "assign_nodes"},
    "extract_keywords": {"assigned": "assign_nodes", "summarized": "summarize"},
    "embed": {"assigned": "assign_nodes", "summarized": "summarize"},
    "commit": {
        "assigned": "assign_nodes",
        "summarized": "summarize",
        "described": "extract_keywords",
        "embedded": "embed",
    },
}
LOAD = """
import json, sys, time, warnings
warnings.simplefilter("error")
started = time.process_time()
from neurigraph_pipelines.definitions import defs
seconds = time.process_time() - started
defs.get_repository_def()  # as Dagster's processes do
heavy = {"openai", "onnxruntime", "onnx", "tiktoken", "tokenizers", "dateparser", "pandas", "fastapi", "typer"}
heavy |= {"numpy", "pgvector", "psycopg_pool"}  # loading definitions stores and searches nothing
loaded = heavy & set(sys.modules)
print(json.dumps({"seconds": seconds, "heavy": sorted(loaded)}))
"""


@pytest.fixture
def here(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """An installation that the environment describes, as it does to Dagster's processes."""
    describe(installation.settings, monkeypatch, NEURIGRAPH_BATCH_MAX_SEGMENTS="2")
    return installation


@pytest.fixture
def bob(here: Installation) -> tuple[User, Claims]:
    return new_user(here, "bob")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance on disk, which remembers runs."""
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


def tick(instance: dg.DagsterInstance) -> dg.SensorResult:
    """Run one sensor tick with the code location's resources."""
    resources = {"installation": InstallationResource()}
    with dg.build_sensor_context(instance=instance, definitions=defs, resources=resources) as context:
        data = conversation_end_sensor.evaluate_tick(context)
    return dg.SensorResult(
        run_requests=list(data.run_requests or ()),
        skip_reason=dg.SkipReason(data.skip_message) if data.skip_message else None,
    )


def today() -> str:
    return partition_of(datetime.now(UTC))


def run(instance: dg.DagsterInstance, batch: triggers.Batch) -> dg.ExecuteInProcessResult:
    return defs.get_job_def("ingestion_job").execute_in_process(
        run_config=run_config(batch.batch_id), partition_key=today(), instance=instance, raise_on_error=False
    )


def metadata(result: dg.ExecuteInProcessResult, op: str) -> dict[str, Any]:
    (event,) = [event for event in result.get_step_success_events() if event.step_key == f"memories.{op}"]
    assert event.is_step_success
    outputs = result.filter_events(lambda e: e.is_successful_output and e.step_key == event.step_key)
    (output,) = [e.step_output_data for e in outputs]
    return {label: value.value for label, value in output.metadata.items()}


# Loading


def test_definitions_load_fast_without_warnings() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stderr == ""
    found = json.loads(loaded.stdout)
    assert found["heavy"] == []
    assert found["seconds"] < 10, "two seconds on a quiet machine"


def test_definitions_are_complete_and_valid() -> None:
    dg.Definitions.validate_loadable(defs)
    repository = defs.get_repository_def()
    jobs = [job for job in repository.get_all_jobs() if not job.name.startswith("__")]  # those are Dagster's own
    assert specifications(repository) == json.loads(SPECIFICATIONS.read_text())
    assert all(s.default_status is dg.DefaultScheduleStatus.RUNNING for s in repository.schedule_defs)
    assert conversation_end_sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert all(job.description for job in jobs)
    assert all(sensor.description for sensor in repository.sensor_defs)
    assert all(schedule.description for schedule in repository.schedule_defs)


def test_every_check_says_what_to_do_if_it_fails() -> None:
    frozen = json.loads(SPECIFICATIONS.read_text())
    made = {*frozen["assets"], *frozen["jobs"]}
    for key, check in frozen["asset_checks"].items():
        _, found, remedy = check["description"].partition("\n\nIf it fails: ")
        assert found, key
        assert "`" in remedy or "**" in remedy, f"{key} names no command and no page"
        assert set(re.findall(r"(?:materialize|launch) `(\w+)`", remedy)) <= made, key
        assert all(is_command(words) for words in re.findall(r"`neurigraph ([^`]+)`", remedy)), key


def test_docs_state_the_severity_of_every_check() -> None:
    rows = re.findall(r"^\|.*\| (`.+`) \|.*\| (ERROR|WARN) \|$", (ROOT / "docs" / "pipeline.md").read_text(), re.M)
    documented = {name: severity for names, severity in rows for name in re.findall(r"`(\w+)`", names.split("|")[0])}
    frozen = json.loads(SPECIFICATIONS.read_text())["asset_checks"]
    assert documented == {key.split(":")[1]: one["severity"] for key, one in frozen.items()}


def test_no_configuration_quotes_the_environment() -> None:
    for job in defs.get_repository_def().get_all_jobs():
        types = job.get_job_snapshot().config_schema_snapshot.all_config_snaps_by_key
        assert types
        assert not [name for name in types if "Source" in name], f"{job.name}: use defs.shared.job_config.schema_of"


def test_every_job_goes_on_at_a_failed_step() -> None:
    for job in defs.get_repository_def().get_all_jobs():
        ops = [node for node in job.all_node_defs if isinstance(node, dg.OpDefinition)]
        outputs = [output for op in ops for output in op.output_defs]
        assert outputs
        for output in outputs:
            keeps = job.resource_defs[output.io_manager_key]
            assert keeps is not dg.mem_io_manager, f"Dagster refuses to execute steps of {job.name} again"


def test_job_ops_in_order() -> None:
    job = defs.resolve_job_def("ingestion_job")
    (graph,) = (node.definition for node in job.graph.nodes)
    assert isinstance(graph, dg.GraphDefinition)
    dependencies = {
        node.name: {
            name: definition.node for name, definition in inputs.items() if isinstance(definition, DependencyDefinition)
        }
        for node, inputs in graph.dependencies.items()
    }
    assert {name: dependencies.get(name, {}) for name in OPS} == OPS
    assert sorted(graph.node_dict) == sorted(OPS)
    assert dict(job.tags) == {
        "dagster/max_retries": "2",
        "dagster/retry_strategy": "FROM_FAILURE",
        "dagster/max_runtime": "3600",
    }
    for node in graph.nodes:
        op = node.definition
        assert isinstance(op, dg.OpDefinition)
        assert op.description
        assert op.retry_policy is None, "a step that is tried again outlives Terminate"


# The sensor


def test_nothing_to_do_is_reported(here: Installation, instance: dg.DagsterInstance) -> None:
    result = tick(instance)
    assert result.run_requests == []
    assert result.skip_reason is not None
    assert result.skip_reason.skip_message == "no segment of this kind is due"


def test_sensor_requests_runs_until_done(
    here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance
) -> None:
    for number in range(3):
        converse(here, bob[1], f"conversation {number}")
    batches: list[triggers.Batch] = []
    for _ in range(2):
        requests = tick(instance).run_requests or []
        batches = triggers.open_batches(here.context, conversation_end_sensor.name)
        asked = {request.run_key: (request.run_config["ops"], request.tags) for request in requests}
        assert asked.keys() == {batch.run_key for batch in batches}
        for batch in batches:
            ops, tags = asked[batch.run_key]
            assert ops == run_config(batch.batch_id)["ops"]
            assert tags["segments"] == str(batch.segments)
            assert tags["tokens"] == str(batch.tokens)
        assert sorted(batch.segments for batch in batches) == [1, 2]
    for batch in batches:
        assert run(instance, batch).success
    assert tick(instance).run_requests == []


def test_claimed_batch_survives_sensor_crash(
    here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance
) -> None:
    converse(here, bob[1], "one")
    detect_conversation_ends(here.context)
    lost = triggers.lease_due(here.context, conversation_end_sensor.name)
    assert lost is not None
    result = tick(instance)
    assert [request.run_key for request in result.run_requests or []] == [lost.run_key]


# The job


def test_run_stores_batch_with_metadata(
    here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance
) -> None:
    converse(here, bob[1], "My sister Ana plays the cello.", "How lovely.", external_id="cello")
    converse(here, bob[1], "My knee hurts on the stairs.", external_id="knee")
    tick(instance)
    (batch,) = triggers.open_batches(here.context, conversation_end_sensor.name)
    result = run(instance, batch)
    assert result.success
    committed = result.output_for_node("memories.commit")
    assert isinstance(committed, BatchResult)
    assert len(committed.stored) >= 2
    assert committed.returned == ()

    records = len(committed.stored)
    for op in OPS:
        found = metadata(result, op)
        assert found["failed"] == 0, op
        assert 0 <= found["seconds"] < 60, op
        assert found["tokens"] == batch.tokens, op
        assert len(found["items"].records) == records, op
    assert metadata(result, "assign_nodes")["segments"] == 2
    assert metadata(result, "assign_nodes")["language model"] == "offline"
    assert metadata(result, "summarize")["summaries"] == records
    assert metadata(result, "summarize")["words"] > 5
    assert metadata(result, "extract_keywords")["records"] == records
    assert metadata(result, "embed")["passages"] == metadata(result, "commit")["passages"] == 3
    assert metadata(result, "embed")["pending"] == metadata(result, "commit")["embeddings pending"] == 0
    assert metadata(result, "commit")["records stored by this run"] == records
    assert metadata(result, "commit")["given back"] == "none"
    assert rows(here, "SELECT DISTINCT state::text FROM neurigraph.storage_triggers") == [{"state": "stored"}]


def test_repeated_batch_changes_nothing(
    here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance
) -> None:
    converse(here, bob[1], "one")
    tick(instance)
    (batch,) = triggers.open_batches(here.context, conversation_end_sensor.name)
    assert run(instance, batch).success
    before = rows(here, "SELECT record_id FROM neurigraph.record_index")
    again = run(instance, batch)
    assert again.success
    assert metadata(again, "commit")["records stored by this run"] == 0
    assert rows(here, "SELECT record_id FROM neurigraph.record_index") == before


def test_resource_is_open_during_runs_only() -> None:
    with pytest.raises(dg.DagsterInvariantViolationError, match="only during a run"):
        _ = InstallationResource().context


class PlainInstallation(InstallationResource):
    """The installation with the plain models, which file where a message says."""

    def __init__(self, **sections: Any) -> None:
        super().__init__(**sections)

    @property
    def context(self) -> Context:
        return plain_context(self.opened)


def test_depth_limit_is_logged(here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance) -> None:
    converse(here, bob[1], "#One/Two/Three/Four/Five/Six It goes deeper and deeper.", external_id="deep")
    tick(instance)
    (batch,) = triggers.open_batches(here.context, conversation_end_sensor.name)
    result = defs.resolve_job_def("ingestion_job").execute_in_process(
        run_config=run_config(batch.batch_id),
        partition_key=today(),
        instance=instance,
        resources={"installation": PlainInstallation(), KEY: step_values},
    )
    (stored,) = result.output_for_node("memories.commit").stored
    assert stored.node_path == "bob/One/Two/Three/Four/Five"
    logged = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert f"record {stored.record_id} was filed with 1 notes: its first delta has them" in logged
    (delta,) = rows(here, "SELECT delta_payload -> 'notes' AS notes FROM neurigraph.delta_log")
    assert delta["notes"] == ["Depth limit 5 met: Six is filed at One / Two / Three / Four / Five."]


# Retention


def test_retention_removes_bodies_and_outputs(
    here: Installation, bob: tuple[User, Claims], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEURIGRAPH_INBOX_RETENTION_DAYS", "1")
    for text in ("one", "two", "three"):
        converse(here, bob[1], text)
    tick(instance)
    old, young = (run(instance, batch) for batch in triggers.open_batches(here.context, conversation_end_sensor.name))
    assert old.success
    assert young.success
    with here.database.owner() as tx:
        tx.execute(
            """UPDATE neurigraph.storage_triggers SET stored_at = now() - interval '2 days'
            WHERE first_message = 1 AND ctid = (SELECT min(ctid) FROM neurigraph.storage_triggers)"""
        )
    storage = Path(instance.storage_directory())
    stranger = storage / "somebody-elses"
    stranger.mkdir()
    tick_logs = storage / "__repository__" / conversation_end_sensor.name
    tick_logs.mkdir(parents=True)
    old_tick, young_tick = (tick_logs / name for name in ("old.err", "young.err"))
    old_tick.touch()
    young_tick.touch()
    past = time.time() - RUN_OUTPUT_DAYS * SECONDS_PER_DAY - 60
    for folder in (storage / old.run_id, stranger):
        folder.mkdir(exist_ok=True)
        os.utime(folder, (past, past))
    os.utime(old_tick, (past, past))
    (storage / young.run_id).mkdir(exist_ok=True)

    result = defs.get_job_def("retention_job").execute_in_process(instance=instance)
    assert result.output_for_node("purge_inbox") == 1
    assert result.output_for_node("purge_run_outputs") == 1
    assert rows(here, "SELECT count(content) AS n FROM neurigraph.messages") == [{"n": 2}]
    assert not (storage / old.run_id).exists()
    assert (storage / young.run_id).exists()
    assert stranger.exists()
    assert list(tick_logs.iterdir()) == [young_tick]


# Schedules


def test_waiting_run_is_not_repeated(instance: dg.DagsterInstance) -> None:
    job = defs.get_job_def("retention_job")
    with dg.build_schedule_context(instance=instance) as context:
        assert waiting_already(context, job.name) is None
        instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        assert waiting_already(context, job.name) is None, "a run that works does not fill the queue"
        instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTING)
        assert waiting_already(context, job.name) == dg.SkipReason("a run waits already")
