"""The queue of runs: ingestion always has a slot, whatever else goes on."""

from __future__ import annotations

import pytest
import yaml

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.shared.run_tags import LARGE, YIELDS
from neurigraph_pipelines.runtime.stack.dagster_home import INSTANCE, dagster_home
from neurigraph_pipelines.wiring.installation import Installation

INGESTION = {"ingestion_job", "upload_job"}


def test_all_jobs_but_ingestion_yield() -> None:
    jobs = [job for job in defs.get_repository_def().get_all_jobs() if not job.name.startswith("__")]
    assert {job.name for job in jobs if not job.run_tags.items() >= YIELDS.items()} == INGESTION
    assert LARGE.items() >= YIELDS.items()


@pytest.mark.parametrize("at_once", [3, 4, 16])
def test_limits_leave_ingestion_a_slot(installation: Installation, at_once: int) -> None:
    """What yields, and backfills, whose runs Dagster tags by itself, never use all slots."""
    here = Installation(installation.settings.changed(runs_at_once=at_once))
    runs = yaml.safe_load((dagster_home(here).folder / "dagster.yaml").read_text("utf-8"))["concurrency"]["runs"]
    limits = {one["key"]: one["limit"] for one in runs["tag_concurrency_limits"]}
    (yields,) = YIELDS
    assert min(limits[yields], limits["dagster/backfill"]) >= 1
    assert limits[yields] + limits["dagster/backfill"] == runs["max_concurrent_runs"] - 1 == at_once - 1


def test_settings_of_the_checkout_are_those_of_four_runs(installation: Installation) -> None:
    written = yaml.safe_load((dagster_home(installation).folder / "dagster.yaml").read_text("utf-8"))
    assert written.pop("storage")
    assert written == yaml.safe_load(INSTANCE.read_text("utf-8"))
