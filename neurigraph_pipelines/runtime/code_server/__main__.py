"""The process of the code server: ``python -m neurigraph_pipelines.runtime.code_server``, as `dagster api grpc`.

Dagster starts a new interpreter for every run, which imports Dagster and the project for three seconds of processor
time. Here ``multiprocessing.forkserver`` imports them once, in a process that opens nothing, and each run is a fork of
it. Dagster has no setting for this; ``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

from dagster._cli.api import grpc_command
from dagster._grpc import server

PRELOADED = "neurigraph_pipelines.runtime.code_server.preloaded"


class ForkingApiServer(server.DagsterApiServer):
    """Dagster's API server, which forks the processes of runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload([PRELOADED])
        vars(self)["_mp_ctx"] = forks


def main() -> None:
    """Serve until a signal ends the process."""
    vars(server)["DagsterApiServer"] = ForkingApiServer
    grpc_command()


if __name__ == "__main__":
    main()
