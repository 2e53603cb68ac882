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
from dagster_aws.s3 import S3ComputeLogManager
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
    assert {"dagster-aws", "dagster-celery", "dagster-k8s", "redis"} <= set(
        re.findall(r"^([a-z0-9-]+)[^=\n]*==", lock, re.MULTILINE)
    )
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


def require_fits(kind: Any, config: dict[str, Any]) -> None:
    """Let Dagster check the configuration of a part of its instance.

    Raises:
        dagster.DagsterInvalidConfigError: It does not fit the schema.
    """

    part = dg.ResourceDefinition(lambda _: None, config_schema=kind.config_type())

    @dg.op(required_resource_keys={"part"})
    def use() -> None: ...

    @dg.job(resource_defs={"part": part})
    def using() -> None:
        use()

    dg.validate_run_config(using, {"resources": {"part": {"config": config}}})


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
    whole = {**config, **chart, "run_k8s_config": run}
    require_fits(K8sRunLauncher, whole)
    with pytest.raises(dg.DagsterInvalidConfigError, match="volums"):
        require_fits(K8sRunLauncher, {**whole, "volums": []})
    for kind in ("volumes", "volumeMounts"):
        assert given[kind] == VALUES["dagsterDaemon"][kind] == VALUES["dagsterWebserver"][kind]


def test_logs_take_their_values() -> None:
    manager = VALUES["computeLogManager"]
    config = manager["config"]["s3ComputeLogManager"]
    assert manager["type"] == S3ComputeLogManager.__name__
    require_fits(S3ComputeLogManager, {in_snake_case(name): value for name, value in config.items()})
    given = {one["name"]: one["value"] for one in VALUES["dagsterDaemon"]["env"]}
    mounted = VALUES["dagsterDaemon"]["volumeMounts"][0]["mountPath"]
    assert given["AWS_SHARED_CREDENTIALS_FILE"].startswith(mounted)


def test_queue_takes_its_values() -> None:
    coordinator = VALUES["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    require_fits(dg.QueuedRunCoordinator, {in_snake_case(name): value for name, value in coordinator.items()})
    here = yaml.safe_load((ROOT / "dagster_home/dagster.yaml").read_text("utf-8"))["concurrency"]["runs"]
    there = VALUES["concurrency"]["runs"]
    assert [(limit["key"], limit.get("value")) for limit in there["tagConcurrencyLimits"]] == [
        (limit["key"], limit.get("value")) for limit in here["tag_concurrency_limits"]
    ]
    yields, backfills = (limit["limit"] for limit in there["tagConcurrencyLimits"][:2])
    assert yields + backfills == there["maxConcurrentRuns"] - 1
