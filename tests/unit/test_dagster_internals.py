"""The internal names of Dagster that ``defs`` and ``ui`` use: an upgrade that changes one fails here."""

from __future__ import annotations

import importlib
import inspect
import json

import dagster as dg
import pytest

from neurigraph_pipelines.defs.run_launcher import WatchedRunLauncher
from tests.conftest import ROOT

_LOOK_AT = (
    "Dagster changed: see run_launcher.py, batch_runs.py and storage.py in neurigraph_pipelines/defs, ui, daemon and "
    "code_server, which use"
)

INTERNALS = [
    ("dagster._core.errors", "DagsterLaunchFailedError"),
    ("dagster._core.errors", "DagsterUserCodeUnreachableError"),
    ("dagster._core.launcher", "CheckRunHealthResult"),
    ("dagster._core.launcher", "LaunchRunContext"),
    ("dagster._core.launcher", "WorkerStatus"),
    ("dagster._grpc.types", "CanCancelExecutionRequest"),
    ("dagster._serdes", "ConfigurableClassData"),
    ("dagster._grpc.impl", "start_termination_thread"),
    ("dagster._utils", "send_interrupt"),
    ("dagster._utils.interrupts", "check_captured_interrupt"),
    ("dagster._utils.interrupts", "setup_interrupt_handlers"),
    ("dagster._core.workspace.load_target", "WorkspaceFileTarget"),
    ("dagster._core.workspace.context", "WorkspaceProcessContext"),
    ("dagster._cli.api", "grpc_command"),
    ("dagster._daemon.controller", "create_daemon_of_type"),
    ("dagster._daemon.daemon", "SpanMarker"),
    ("dagster._daemon.utils", "DaemonErrorCapture"),
    ("dagster._utils.interrupts", "capture_interrupts"),
    ("dagster_shared.error", "SerializableErrorInfo"),
    ("dagster_webserver.app", "create_app_from_workspace_process_context"),
]


@pytest.mark.parametrize(("module", "name"), INTERNALS)
def test_internal_name_exists(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name), f"{_LOOK_AT} {module}.{name}"


def test_health_results_are_as_used() -> None:
    launcher = importlib.import_module("dagster._core.launcher")
    for name in ("RUNNING", "FAILED"):
        status = getattr(launcher.WorkerStatus, name, None)
        assert status is not None, f"{_LOOK_AT} WorkerStatus.{name}"
        result = launcher.CheckRunHealthResult(status, "why")
        assert (result.status, result.msg) == (status, "why"), f"{_LOOK_AT} CheckRunHealthResult"


def test_launcher_methods_exist() -> None:
    finder = getattr(dg.DefaultRunLauncher, "_get_grpc_client_for_termination", None)
    assert finder is not None, f"{_LOOK_AT} DefaultRunLauncher._get_grpc_client_for_termination"
    assert list(inspect.signature(finder).parameters) == ["self", "run_id"], f"{_LOOK_AT} it with a run id"
    for name in ("supports_check_run_worker_health", "check_run_worker_health"):
        assert hasattr(dg.DefaultRunLauncher, name), f"{_LOOK_AT} RunLauncher.{name}"
        assert name in vars(WatchedRunLauncher)


def test_client_of_a_code_server_is_as_used() -> None:
    client = importlib.import_module("dagster._grpc.client").DagsterGrpcClient
    parameters = inspect.signature(client.can_cancel_execution).parameters
    assert list(parameters)[1:] == ["can_cancel_execution_request", "timeout"], f"{_LOOK_AT} can_cancel_execution"
    assert client(socket="/s", host="localhost").socket == "/s", f"{_LOOK_AT} DagsterGrpcClient.socket"
    request = importlib.import_module("dagster._grpc.types").CanCancelExecutionRequest(run_id="run")
    assert request.run_id == "run", f"{_LOOK_AT} CanCancelExecutionRequest.run_id"


def test_answer_of_a_code_server_is_json() -> None:
    types, serdes = importlib.import_module("dagster._grpc.types"), importlib.import_module("dagster._serdes")
    for value in (True, False):
        answer = serdes.serialize_value(types.CanCancelExecutionResult(can_cancel=value))
        assert json.loads(answer)["can_cancel"] is value, f"{_LOOK_AT} the JSON of CanCancelExecutionResult"


def test_storages_connect_through_their_engine() -> None:
    storages = importlib.import_module("dagster_postgres")
    for name in ("PostgresRunStorage", "PostgresEventLogStorage", "PostgresScheduleStorage"):
        source = inspect.getsource(getattr(storages, name))
        assert "self._engine = create_pg_engine(" in source, f"{_LOOK_AT} {name}._engine"
        assert "create_pg_connection(self._engine)" in source, f"{_LOOK_AT} {name}._engine"


def test_code_server_starts_runs_in_its_context() -> None:
    served = importlib.import_module("dagster._grpc.server").DagsterApiServer
    assert "self._mp_ctx = multiprocessing.get_context(" in inspect.getsource(served.__init__), f"{_LOOK_AT} _mp_ctx"
    assert "self._mp_ctx.Process(" in inspect.getsource(served.StartRun), f"{_LOOK_AT} _mp_ctx"
    command = importlib.import_module("dagster._cli.api").grpc_command.callback
    assert "from dagster._grpc.server import DagsterApiServer" in inspect.getsource(command), f"{_LOOK_AT} grpc_command"


def test_run_without_code_server_returns_to_queue() -> None:
    text = (ROOT / "dagster_home" / "dagster.yaml").read_text(encoding="utf-8")
    config = importlib.import_module("yaml").safe_load(text)["run_coordinator"]
    coordinator = dg.QueuedRunCoordinator(**config["config"])
    run_queue = coordinator.get_run_queue_config()
    assert run_queue.max_user_code_failure_retries >= 10
    assert run_queue.user_code_failure_retry_delay <= 10


def test_loops_of_the_daemon_are_as_replaced() -> None:
    sensors = importlib.import_module("dagster._daemon.sensor").execute_sensor_iteration_loop
    assert "shutdown_event.wait(sleep_time)" in inspect.getsource(sensors), f"{_LOOK_AT} the pause of the sensors"
    loop = importlib.import_module("dagster._daemon.daemon").SensorDaemon.core_loop
    assert "execute_sensor_iteration_loop(" in inspect.getsource(loop), f"{_LOOK_AT} SensorDaemon.core_loop"
    queue = importlib.import_module("dagster._daemon.daemon").IntervalDaemon.core_loop
    assert "self.run_iteration(workspace_process_context)" in inspect.getsource(queue), f"{_LOOK_AT} core_loop"
    controller = importlib.import_module("dagster._daemon.controller").daemon_controller_from_instance
    assert "gen_daemons" in inspect.signature(controller).parameters, f"{_LOOK_AT} gen_daemons"
