"""The HTTP server: the API and the endpoint for agents behind the same guards, of all databases of the directory.

Faces do not know each other, so they are put together here.
"""

from __future__ import annotations

from typing import Any

import uvicorn
from fastapi import FastAPI

from neurigraph_pipelines.faces.api import server
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.faces.api.connection_waits import ConnectionWaits
from neurigraph_pipelines.faces.dispatching import Dispatcher
from neurigraph_pipelines.faces.mcp.http import Endpoint
from neurigraph_pipelines.wiring.installation import Installation


def http_server(installation: Installation, log_config: dict[str, Any] | None = None) -> uvicorn.Server:
    """Return a server of the API and of ``/mcp``, ready to run.

    Args:
        installation: A migrated installation, which the caller closes.
        log_config: A ``logging.config`` dictionary; None changes nothing.
    """

    def make(one: Installation) -> FastAPI:
        return create_app(one, [Endpoint(one)])

    dispatcher = Dispatcher(make(installation), installation.databases, make)
    bounded = ConnectionWaits(dispatcher, installation.settings.database.wait_seconds)
    return server.http_server(bounded, installation.settings, log_config)
