"""The files for containers and Kubernetes, checked by schemas: no engine and no cluster is needed."""

from __future__ import annotations

import json
import re
from typing import Any

import dagster as dg
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose
from dagster._config import process_config
from dagster._config.field_utils import convert_potential_field
from dagster_k8s import K8sRunLauncher
from typer.main import get_command

from neurigraph_pipelines.faces.cli.entry import app
from neurigraph_pipelines.settings import list_settings
from tests.conftest import ROOT

VALUES: dict[str, Any] = yaml.safe_load((ROOT / "deploy/helm/dagster-values.yaml").read_text("utf-8"))
MANIFESTS = [
    manifest
    for path in sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text("utf-8"))
]


def composed() -> PyCompose:
    return PyCompose.from_json(json.dumps(yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))))


def services() -> dict[str, Any]:
    found: dict[str, Any] = composed().to_dict()["services"]
    return found


OURS = [name for name, service in services().items() if service["image"] == "neurigraph"]


def test_compose_file_is_valid() -> None:
    assert composed().to_spec().services
    parts = {"postgres", "redis", "store", "code-server", "webserver", "daemon", "worker", "api", "migrate"}
    assert parts <= set(services())
    assert set(OURS) == parts - {"postgres", "redis", "store"}


@pytest.mark.parametrize("name", OURS)
def test_service_names_a_command_and_settings(name: str) -> None:
    service = services()[name]
    command, *options = service["command"]
    known = get_command(app).commands[command]  # type: ignore[attr-defined]
    known.make_context(command, options, resilient_parsing=False)
    variables = {setting.variable for setting in list_settings()}
    assert set(service["environment"]) <= variables, "each is a setting"


def test_services_wait_for_what_ends_or_has_a_health_check() -> None:
    known = services()
    for name, service in known.items():
        for needed, condition in (service.get("depends_on") or {}).items() if name in OURS else ():
            ends = known[needed].get("restart") == "no"
            assert condition["condition"] == ("service_completed_successfully" if ends else "service_healthy")
            assert ends or "healthcheck" in known[needed]


def test_image_holds_what_the_services_need() -> None:
    lock = (ROOT / "requirements/lock.txt").read_text("utf-8")
    assert {"dagster-celery", "dagster-k8s", "redis"} <= set(re.findall(r"^([a-z0-9-]+)[^=\n]*==", lock, re.MULTILINE))
    assert "requirements/lock.txt" in (ROOT / "deploy/Dockerfile").read_text("utf-8")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_manifest_is_valid(manifest: dict[str, Any], version: str) -> None:
    assert kubernetes_validate.validate(manifest, version, strict=True) == version


def test_invalid_manifest_is_noticed() -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**MANIFESTS[0], "spec": {"replicas": "two"}}, "1.37", strict=True)


def in_snake_case(name: str) -> str:
    return re.sub(r"([A-Z])", lambda letter: f"_{letter[1].lower()}", name)


def test_run_launcher_takes_its_values() -> None:
    """The chart writes them into Dagster's settings in snake case, but for the Kubernetes objects within."""
    given = dict(VALUES["runLauncher"]["config"]["k8sRunLauncher"])
    run: dict[str, Any] = {in_snake_case(name): value for name, value in given.pop("runK8sConfig").items()}
    config = {in_snake_case(name): value for name, value in given.items()}
    chart = {
        "dagster_home": "/opt/dagster/dagster_home",
        "instance_config_map": "dagster-instance",
        "postgres_password_secret": VALUES["global"]["postgresqlSecretName"],
        "service_account_name": "dagster",
        "job_namespace": "default",
    }
    schema = convert_potential_field(K8sRunLauncher.config_type()).config_type  # type: ignore[no-untyped-call]
    cases: tuple[tuple[dict[str, Any], bool], ...] = (({}, True), ({"volums": []}, False))
    for wrong, fits in cases:
        processed = process_config(schema, {**config, **chart, "run_k8s_config": run, **wrong})
        assert processed.success is fits, processed.errors
    for kind in ("volumes", "volumeMounts"):
        assert given[kind] == VALUES["dagsterDaemon"][kind] == VALUES["dagsterWebserver"][kind]


def test_queue_takes_its_values() -> None:
    coordinator = VALUES["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    schema = convert_potential_field(dg.QueuedRunCoordinator.config_type()).config_type
    assert process_config(schema, {in_snake_case(name): value for name, value in coordinator.items()}).success
    here = yaml.safe_load((ROOT / "dagster_home/dagster.yaml").read_text("utf-8"))["concurrency"]["runs"]
    there = VALUES["concurrency"]["runs"]
    assert [(limit["key"], limit.get("value")) for limit in there["tagConcurrencyLimits"]] == [
        (limit["key"], limit.get("value")) for limit in here["tag_concurrency_limits"]
    ]
    yields, backfills = (limit["limit"] for limit in there["tagConcurrencyLimits"][:2])
    assert yields + backfills == there["maxConcurrentRuns"] - 1
