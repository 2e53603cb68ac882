"""The lock by which the daemon knows that the process of a run lives, and the look whether the run is to stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from dagster import DagsterInstance, DagsterRunStatus
from psycopg import sql
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from neurigraph_pipelines.defs.storage import home_engine
from neurigraph_pipelines.defs.worker_launcher import LOOK_SECONDS, RUN_WORKERS

_STOPPED = (DagsterRunStatus.CANCELING, DagsterRunStatus.CANCELED, DagsterRunStatus.FAILURE)
"""The statuses of a run that is to stop: somebody terminates it, or it took too long."""


@contextmanager
def present(instance: DagsterInstance, run_id: str, stop: threading.Event) -> Iterator[None]:
    """Hold the lock of a run within the block, and set ``stop`` if the run is to stop.

    Returns after another process that holds the lock has ended.
    """
    done = threading.Event()
    with _run_lock(run_id, RUN_WORKERS["hold"]) as connection:
        watch = threading.Thread(target=_watch, args=(instance, run_id, connection, stop, done), daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()


@contextmanager
def _run_lock(run_id: str, query: sql.SQL) -> Iterator[Connection]:
    """Take the lock of a run on a connection of its own, which closes with the block."""
    with home_engine().connect() as connection:
        connection.detach()
        connection.exec_driver_sql(query.as_string(), {"run_id": run_id})
        yield connection


def _watch(
    instance: DagsterInstance, run_id: str, connection: Connection, stop: threading.Event, done: threading.Event
) -> None:
    """Look every few seconds, and hold the lock again when the connection was lost."""
    with ExitStack() as opened:
        while not done.wait(LOOK_SECONDS):
            with suppress(DBAPIError):  # the database is away: the next look may find it again
                if connection.invalidated:
                    connection = opened.enter_context(_run_lock(run_id, RUN_WORKERS["hold_again"]))
                run = instance.get_run_by_id(run_id)
                if run is None or run.status in _STOPPED:
                    stop.set()
                connection.exec_driver_sql("SELECT 1")
