"""Launches runs, and notices those that died together with the code server that watched them.

Dagster's own launcher leaves such a run "started" until its longest runtime is over, and it keeps a place among the
concurrent runs all that time: after a power cut with four of them, nothing would be stored for an hour.
``dagster_home/dagster.yaml`` names this one. Used by Dagster's monitoring; what becomes of the segments of a dead run
is for ``ingestion.triggers``.
"""

import json
import socket

from dagster import DagsterRun, DefaultRunLauncher
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value

_ANSWER_SECONDS = 10


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's default launcher, with a look at the health of a run's process."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Monitoring is to ask."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Ask the code server that started a run whether its process lives.

        Only what is sure counts as dead: a server at an address may come back there, and then knows nothing of the run.
        """
        server = json.loads(run.tags[GRPC_INFO_TAG])
        path, port = server.get("socket"), server.get("port")
        if path is not None and not _listens(path):
            return CheckRunHealthResult(WorkerStatus.FAILED, "its code server is gone")
        try:
            client = DagsterGrpcClient(port, path, server["host"], use_ssl=bool(server.get("use_ssl")))
            answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=_ANSWER_SECONDS)
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code server does not answer just now")
        if deserialize_value(answer, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "its code server has no process for it")


def _listens(path: str) -> bool:
    """Whether a process listens on a socket of this machine; one that is busy does, too."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True
