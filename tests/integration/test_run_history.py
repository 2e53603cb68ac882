"""Old runs of Dagster: those that marked no day of an asset go, the others stay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe

ASSET = "records"


@pytest.fixture
def instance(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance on disk, and an installation that keeps runs for 30 days."""
    describe(installation.settings, monkeypatch, NEURIGRAPH_RUN_HISTORY_DAYS="30")
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


@dg.op
def mark(context) -> None:  # type: ignore[no-untyped-def]  # Dagster does not read quoted annotations
    context.log_event(dg.AssetMaterialization(ASSET, partition="2026-01-02"))


@dg.op
def fail() -> None:
    raise dg.Failure("as it should")


@dg.job
def marking_job() -> None:
    """Marks a day of an asset."""
    mark()


@dg.job
def failing_job() -> None:
    """Fails before it marks anything."""
    fail()


def executed(instance: dg.DagsterInstance, job: dg.JobDefinition) -> str:
    return job.execute_in_process(instance=instance, raise_on_error=False).run_id


def age(instance: dg.DagsterInstance, *run_ids: str, days: int = 31) -> None:
    """Let runs have ended some days ago."""
    storage: Any = instance.run_storage  # of SQLite, whose tables no public name reaches
    ended = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)  # as Dagster stores it
    with storage.connect() as connection:
        for run_id in run_ids:
            connection.execute(
                sqlalchemy.text("UPDATE runs SET update_timestamp = :at WHERE run_id = :run_id"),
                {"at": ended, "run_id": run_id},
            )


def removed(instance: dg.DagsterInstance) -> int:
    result = defs.get_job_def("retention_job").execute_in_process(instance=instance)
    return int(result.output_for_node("purge_runs"))


def known(instance: dg.DagsterInstance) -> set[str]:
    return {run.run_id for run in instance.get_runs()}


def test_old_runs_go_unless_they_marked_a_day(instance: dg.DagsterInstance) -> None:
    first, marking, failed, young = (
        executed(instance, job) for job in (failing_job, marking_job, failing_job, failing_job)
    )
    age(instance, first, marking, failed)
    age(instance, young, days=29)
    assert removed(instance) == 2
    assert known(instance) > {marking, young}
    assert not known(instance) & {first, failed}
    assert instance.get_records_for_run(failed).records == [], "the events went with the run"
    assert instance.get_materialized_partitions(dg.AssetKey(ASSET)) == {"2026-01-02"}
    age(instance, young)
    assert removed(instance) == 1, "it goes on after the run that stays"
    instance.delete_run(marking)
    later = executed(instance, failing_job)
    age(instance, later)
    assert removed(instance) == 1, "it begins again if that run is gone"


def test_all_runs_stay_if_the_setting_says_so(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURIGRAPH_RUN_HISTORY_DAYS", "0")
    old = executed(instance, failing_job)
    age(instance, old)
    assert removed(instance) == 0
    assert old in known(instance)


def test_runs_that_go_on_stay(instance: dg.DagsterInstance) -> None:
    run = instance.create_run_for_job(failing_job)
    age(instance, run.run_id)
    assert removed(instance) == 0
    assert run.run_id in known(instance)
