"""A run launcher that hands runs to workers on any machine, by Celery and Redis.

It is dagster-celery's launcher, without Celery's store of results and without its remote control. Whether a run's
process lives is known by a lock in the database (``sql/queries/run_workers.sql``), and a worker learns from Dagster's
own record that its run is to stop. Celery would call the run of a dead worker started for ever.

``runtime.stack.dagster_home`` names this launcher if the settings name a broker (docs/adr/0104-workers.md).
``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from celery import Celery
from dagster import DagsterRun
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster._serdes import ConfigurableClassData
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.make_app import make_app
from kombu.exceptions import OperationalError

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.defs.storage import home_engine, home_file

BROKER_FILE = "broker_url"
"""The file in ``DAGSTER_HOME`` with the broker's address, which may hold a password."""

LOOK_SECONDS = 2.0
"""How often a worker looks whether its run is to stop, and whether it still holds the run's lock."""

RUN_WORKERS = statements("run_workers")
_QUEUE = "dagster"
_CONFIG = {
    "broker_connection_retry_on_startup": True,
    "broker_transport_options": {"socket_connect_timeout": 5, "socket_keepalive": True},
    "task_ignore_result": True,
    "worker_disable_prefetch": True,  # a run waits in Redis for whichever worker is free first
    "worker_enable_remote_control": False,
    "worker_max_tasks_per_child": 1,  # as everywhere, a run is a process of its own
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}


def worker_app() -> Celery:
    """Return the application of workers, with the broker of the home folder."""
    broker = home_file(BROKER_FILE)
    return make_app(  # type: ignore[no-untyped-call]
        {"broker": broker, "backend": "disabled://", "config_source": dict(_CONFIG)}
    )


class WorkerRunLauncher(CeleryRunLauncher):
    """dagster-celery's launcher, with a health check that notices dead workers, and with clean termination."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(_QUEUE, home_file(BROKER_FILE), "disabled://", None, dict(_CONFIG), inst_data)

    @classmethod
    def config_type(cls) -> dict[str, object]:
        """Return the configuration's schema: nothing can be configured."""
        return {}

    @classmethod
    def from_config_value(
        cls,
        inst_data: ConfigurableClassData | None,
        config_value: Mapping[str, object],  # noqa: ARG003
    ) -> WorkerRunLauncher:
        """Make the launcher; ``config_value`` is empty."""
        return cls(inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Put a run into Redis.

        Raises:
            DagsterUserCodeUnreachableError: Redis does not take it. Dagster's daemon then returns the run to its queue.
        """
        try:
            super().launch_run(context)
        except OperationalError as error:
            raise DagsterUserCodeUnreachableError(f"the broker did not take the run: {error}") from error

    @property
    def supports_resume_run(self) -> bool:
        """A run whose worker died is not resumed: its segments return to the queue."""
        return False

    def terminate(self, run_id: str) -> bool:
        """Mark a run as canceling. The worker that executes the run sees the mark, and ends the run."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Look whether the process of a run lives.

        A worker whose connection to the database was lost holds the lock again before the second look.
        """
        if not _is_free(run.run_id):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        time.sleep(3 * LOOK_SECONDS)
        if _is_free(run.run_id):
            return CheckRunHealthResult(WorkerStatus.FAILED, "no worker executes it any more")
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def get_run_worker_debug_info(self, run: DagsterRun, include_container_logs: bool | None = True) -> str | None:
        """Return nothing: Celery's results are not stored."""
        return None


def _is_free(run_id: str) -> bool:
    with home_engine().connect() as connection:
        query = RUN_WORKERS["is_free"].as_string()
        return bool(connection.exec_driver_sql(query, {"run_id": run_id}).scalar_one())
