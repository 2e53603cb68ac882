"""Executes one run in this process."""

from __future__ import annotations

import os
import signal
import socket
import threading

from dagster import DagsterInstance, DagsterRunStatus
from dagster._cli.api import _execute_run_command_body

from neurigraph_pipelines.runtime.code_server.termination import start_termination_thread
from neurigraph_pipelines.runtime.worker.presence import present


def execute(run_id: str) -> None:
    """Execute a run, unless it was executed or canceled before."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Celery's children ignore it
    stop, done = threading.Event(), threading.Event()
    with DagsterInstance.get() as instance, present(instance, run_id, stop):
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return
        if run.status == DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run)
            return
        if run.status != DagsterRunStatus.STARTING:
            return  # its first worker died, and monitoring fails it
        instance.report_engine_event(f"Worker {os.getppid()} on {socket.gethostname()} executes the run.", run)
        start_termination_thread(stop, done)
        try:
            _execute_run_command_body(run_id, instance, lambda _: None, set_exit_code_on_failure=False)
        finally:
            done.set()
