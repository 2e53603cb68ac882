"""Resources are sections of the settings: a run can have other numbers, and no other address or key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import dagster as dg
import pytest

from neurigraph_pipelines.defs.resources import resources
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.sections import SECTIONS
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.s3_proxy import s3_proxy
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, moto_server, new_bucket, rclone_server

CHOSEN: dict[str, dict[str, Any]] = {
    "postgres": {"pool_size": 2},
    "objects": {"gzip_level": 1},
    "models": {"language_model": "offline", "timeout_seconds": 7.5},
    "clock": {"dormancy_days": 0.5},
}

IN_S3 = {
    "NEURIGRAPH_S3_REGION": "us-east-1",
    "NEURIGRAPH_S3_ACCESS_KEY_ID": ACCESS_KEY_ID,
    "NEURIGRAPH_S3_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    "NEURIGRAPH_S3_MAX_ATTEMPTS": "3",
}


def settings_of_run(chosen: dict[str, dict[str, Any]]) -> Settings:
    """Return the settings that a run has which is launched with these fields."""
    found: list[Settings] = []

    @dg.op
    def look(installation: InstallationResource) -> None:
        found.append(installation.settings)

    @dg.job
    def looking() -> None:
        look()

    defs = dg.Definitions.merge(dg.Definitions(jobs=[looking]), resources())
    run = {"resources": {name: {"config": fields} for name, fields in chosen.items()}}
    assert defs.resolve_job_def("looking").execute_in_process(run_config=run).success
    return found[0]


def test_launch_overrides_settings(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch, NEURIGRAPH_DATABASE_POOL_SIZE="3", NEURIGRAPH_GZIP_LEVEL="9")
    plain, chosen = settings_of_run({}), settings_of_run(CHOSEN)
    assert (plain.database.pool_size, plain.objects.gzip_level, plain.lifecycle.dormancy_days) == (3, 9, 30)
    assert (chosen.database.pool_size, chosen.objects.gzip_level, chosen.lifecycle.dormancy_days) == (2, 1, 0.5)
    assert (chosen.models.language_model, chosen.model_calls.timeout_seconds) == ("offline", 7.5)
    assert chosen.database.url == plain.database.url
    assert chosen.model_calls.concurrency == plain.model_calls.concurrency


def test_bounds_are_those_of_the_settings(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch)
    with pytest.raises(dg.DagsterResourceFunctionError) as wrong:
        settings_of_run({"postgres": {"pool_size": 71_000}})
    assert "NEURIGRAPH_DATABASE_POOL_SIZE" in str(wrong.value.__cause__)
    assert "71000" not in str(wrong.value.__cause__)


def test_environment_is_not_quoted(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(installation.settings, monkeypatch)
    monkeypatch.setenv("A_SECRET", "hunter2")
    for section, field in (("postgres", "pool_size"), ("postgres", "wait_seconds"), ("models", "language_model")):
        with pytest.raises(dg.DagsterInvalidConfigError) as refused:
            settings_of_run({section: {field: {"env": "A_SECRET"}}})
        assert "hunter2" not in str(refused.value)


def test_fields_are_numbers_and_choices() -> None:
    for section in SECTIONS.values():
        for name, field in section.model_fields.items():
            kinds = {get_origin(field.annotation)} & {Literal} or set(get_args(field.annotation)) - {type(None)}
            assert kinds <= {float, Literal}, f"{section.__name__}.{name} could quote the environment"
            assert "NEURIGRAPH_" in (field.description or "")


@pytest.fixture(params=["moto", "rclone"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of either server; rclone refuses wrong signatures and knows no newer checksum."""
    with moto_server() if request.param == "moto" else rclone_server(tmp_path) as address:
        yield address


def test_runs_reach_s3_by_dagsters_resource(
    installation: Installation, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_proxy(store) as between:
        place = {
            "NEURIGRAPH_OBJECTS_URL": f"s3://{new_bucket(store)}/o",
            "NEURIGRAPH_S3_ENDPOINT_URL": between.address,
        }
        describe(installation.settings, monkeypatch, **place, **IN_S3)
        with dg.build_resources({"installation": InstallationResource()}) as opened:
            objects = opened.installation.opened.objects
            objects.put("a/b", [b"kept"])
            assert b"".join(objects.get("a/b")) == b"kept"
            assert objects.get_range("a/b", 1, 2) == b"ep"
            between.log.clear()
            between.fail("GET", "slow_down", times=2)
            assert list(objects.keys()) == ["a/b"]
            assert len(between.log) == 3, "the adapter repeats requests, and boto3 does not besides"
            between.fail("DELETE", "slow_down", times=9)
            with pytest.raises(TransientError):
                objects.delete("a/b")
            assert len(between.of("DELETE")) == 3
