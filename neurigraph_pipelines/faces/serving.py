"""The HTTP server: the API and the endpoint for agents behind the same guards, of all databases of the directory.

Faces do not know each other, so they are put together here.
"""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI

from neurigraph_pipelines.faces.api import server
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.faces.api.connection_waits import ConnectionWaits
from neurigraph_pipelines.faces.dispatching import Dispatcher
from neurigraph_pipelines.faces.mcp.http import McpEndpoint
from neurigraph_pipelines.wiring.installation import Installation


def http_server(installation: Installation, *, is_process: bool = False) -> uvicorn.Server:
    """Return a server of the API and of ``/mcp``, ready to run.

    Args:
        installation: A migrated installation, which the caller closes.
        is_process: Whether the process only serves, so that its logs are written as the settings say.
    """

    def make(one: Installation) -> FastAPI:
        return create_app(one, [McpEndpoint(one)])

    dispatcher = Dispatcher(make(installation), installation.databases, make)
    bounded = ConnectionWaits(dispatcher, installation.settings.database.wait_seconds)
    return server.http_server(bounded, installation.settings, is_process=is_process)
