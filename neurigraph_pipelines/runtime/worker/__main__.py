"""The process of a worker: ``python -m neurigraph_pipelines.runtime.worker --runs NUMBER``.

A Celery worker that has imported everything before it forks, so that a run starts at once, as in the code server
(docs/adr/0052-runs-are-forks.md). SIGTERM lets the runs under way end. ``runtime.stack.dagster_home`` prepares its
environment.
"""

from __future__ import annotations

import argparse
import os
import socket

from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import unpack_value
from dagster_celery.config import TASK_EXECUTE_JOB_NAME
from dagster_shared.serdes.serdes import JsonSerializableValue

from neurigraph_pipelines.defs.worker_launcher import worker_app
from neurigraph_pipelines.runtime.worker.runs import execute


def main() -> None:
    """Execute runs until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m neurigraph_pipelines.runtime.worker")
    parser.add_argument("--runs", type=int, required=True)
    runs = parser.parse_args().runs
    app = worker_app()
    app.task(_execute_job, name=TASK_EXECUTE_JOB_NAME)
    name = f"neurigraph-{os.getpid()}@{socket.gethostname()}"
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=WARNING")
    app.worker_main(["worker", f"--concurrency={runs}", f"--hostname={name}", *quiet])


def _execute_job(execute_job_args_packed: JsonSerializableValue) -> None:
    """Execute the run that dagster-celery's launcher has put into Redis."""
    execute(unpack_value(execute_job_args_packed, as_type=ExecuteRunArgs).run_id)


if __name__ == "__main__":
    main()
