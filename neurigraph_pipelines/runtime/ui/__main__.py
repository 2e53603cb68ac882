"""The process of Dagster's UI: ``python -m neurigraph_pipelines.runtime.ui --host HOST --port PORT``.

``runtime.stack.dagster_home`` prepares its environment, which holds no secret: the token comes from a file.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from importlib.metadata import version
from pathlib import Path

import uvicorn
from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context

from neurigraph_pipelines.runtime.ui.guard import Guard

# As Dagster's own command: statements that take longer would occupy the few connections of the UI.
_STATEMENT_MILLISECONDS = 15_000
_RECYCLE_SECONDS = 3_600
_POOL_OVERFLOW = 20
_POLL_MILLISECONDS = 2_000
_WEBSOCKET_BYTES = 1 << 20
_STOP_SECONDS = 5


def main() -> None:
    """Serve the UI until SIGINT or SIGTERM."""
    options = _options()
    token = options.token_file.read_text(encoding="utf-8").strip()
    with DagsterInstance.get() as instance:
        instance.optimize_for_webserver(_STATEMENT_MILLISECONDS, _RECYCLE_SECONDS, _POOL_OVERFLOW)
        target = WorkspaceFileTarget([str(options.workspace)])
        with WorkspaceProcessContext(instance, target, version=version("dagster-webserver")) as workspace:
            app = create_app_from_workspace_process_context(workspace, live_data_poll_rate=_POLL_MILLISECONDS)
            uvicorn.run(
                Guard(app, token, options.allow_host),
                host=options.host,
                port=options.port,
                http="h11",
                ws="websockets-sansio",
                ws_max_size=_WEBSOCKET_BYTES,
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                access_log=False,  # it would hold the token
                log_level="warning",
                # Subscriptions stay open for as long as a page does.
                timeout_graceful_shutdown=_STOP_SECONDS,
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m neurigraph_pipelines.runtime.ui")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--allow-host", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the block ends, and with it the code server
    with contextlib.suppress(KeyboardInterrupt):
        main()
