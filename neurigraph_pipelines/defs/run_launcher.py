"""A run launcher that returns a run to its queue when it cannot be started, and detects runs whose process died.

Dagster's own launcher leaves a run whose process died together with its code server "started" until its maximum
runtime is over. Until then it occupies a place among the concurrent runs: after a power cut during four runs, nothing
would be stored for an hour.
``dagster_home/dagster.yaml`` names this launcher, and Dagster's run monitoring calls it. The segments of a dead run are
returned to the queue by ``inbox.triggers``.

Dagster has no public interface for this. ``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

import json
import socket

from dagster import DagsterError, DagsterRun, DefaultRunLauncher
from dagster._core.errors import DagsterLaunchFailedError, DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest

_ANSWER_SECONDS = 10


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's default launcher, with a health check of a run's process."""

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start a run's process.

        Raises:
            DagsterUserCodeUnreachableError: The code server does not answer, ends, or has lost the process. Dagster's
                daemon then returns the run to the queue; any other error would fail it.
        """
        try:
            super().launch_run(context)
        except DagsterLaunchFailedError as error:
            raise DagsterUserCodeUnreachableError(f"the code server did not start the run: {error}") from error

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Tell Dagster's monitoring that ``check_run_worker_health`` can be called."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Ask the code server that started a run whether the run's process lives.

        Only a certain death counts: a server at an address may return there, and then says that it does not know the
        run.
        """
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "it has ended, or names no code server")
        if client.socket is not None and not _listens(client.socket):
            return CheckRunHealthResult(WorkerStatus.FAILED, "its code server is gone")
        try:
            answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=_ANSWER_SECONDS)
        except DagsterError:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code server does not answer at the moment")
        if json.loads(answer)["can_cancel"]:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "its code server has no process for it")


def _listens(path: str) -> bool:
    """Return whether a process listens on a socket of this machine, even if it is busy."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True
